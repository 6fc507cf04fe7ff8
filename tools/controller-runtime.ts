import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isExecutable } from "../packages/testing/src/control-plane/find-control-plane.ts";
import { buildBeside } from "./build-beside.ts";
import { findGo, GoModule, type Environment } from "./go-module.ts";
import { run } from "./run.ts";

const module = new GoModule("controller-runtime");
const path = "sigs.k8s.io/controller-runtime";

/** Packages of controller-runtime, below `pkg/`, whose tests start an API server. */
export const controllerRuntimeSuites: readonly string[] = [
  "builder",
  "cache",
  "client",
  "client/apiutil",
  "cluster",
  "controller",
  "controller/controllerutil",
  "envtest",
  "handler",
  "internal/controller",
  "internal/recorder",
  "internal/testing/controlplane",
  "manager",
  "manager/internal/integration",
  "metrics/filters",
  "reconcile",
  "source",
  "webhook",
];

/** controller-runtime's test suites. */
export interface ControllerRuntimeTests {
  /** Such as `v0.25.2`. */
  readonly version: string;
  /** Program of a suite. */
  program(suite: string): string;
  /** Folder in which the suite's tests expect to run: its package, with test data. */
  folder(suite: string): string;
}

/** Reason why the suites are not available, and how to get them; `undefined` if they are. */
export function missingControllerRuntime(environment: Environment = process.env): string | undefined {
  if (isBuilt(built(environment)) || findGo(environment) !== undefined) return undefined;
  return "there is no Go on the PATH to build controller-runtime's tests with (https://go.dev/dl, 1.26 or newer); install it, or set CONTROLLER_RUNTIME to a folder with built ones";
}

/**
 * The suites, built first if needed, which takes some minutes; `CONTROLLER_RUNTIME` may name a folder with built ones.
 *
 * @throws Error if they cannot be built, with Go's words
 */
export async function ensureControllerRuntime(environment: Environment = process.env): Promise<ControllerRuntimeTests> {
  const directory = built(environment);
  if (!isBuilt(directory)) await build(directory, environment);
  const version = new RegExp(`^\\s*(?:require )?${path} (\\S+)$`, "m").exec(readFileSync(join(module.folder, "go.mod"), "utf8"))?.[1] ?? "";
  return { version, program: (suite) => programOf(directory, suite), folder: (suite) => join(directory, "source/pkg", suite) };
}

function built(environment: Environment): string {
  return environment["CONTROLLER_RUNTIME"] || module.builtFolder(environment);
}

function isBuilt(directory: string): boolean {
  return controllerRuntimeSuites.every((suite) => isExecutable(programOf(directory, suite)));
}

function programOf(directory: string, suite: string): string {
  return join(directory, `${suite.replaceAll("/", "-")}.test`);
}

async function build(directory: string, environment: Environment): Promise<void> {
  const go = findGo(environment);
  if (go === undefined) throw new Error(missingControllerRuntime(environment));
  console.log(`controller-runtime's tests are built once with ${go} into ${directory}: some minutes`);
  await buildBeside(directory, async (output) => {
    for (const suite of controllerRuntimeSuites)
      await module.build(go, ["test", "-c", "-ldflags", "-s -w", "-o", programOf(output, suite), `${path}/pkg/${suite}`]);
    const { code, output: found } = await run(go, ["list", "-m", "-f", "{{.Dir}}", path], { cwd: module.folder });
    if (code !== 0) throw new Error(`go list -m ${path}: ${found}`);
    cpSync(found.trim(), join(output, "source"), { recursive: true });
    // Go's module cache cannot be written to, and has no executables: tests write beside their data, which has scripts.
    await run("chmod", ["-R", "u+wx", join(output, "source")]);
  });
}
