import { dirname, join } from "node:path";
import { cacheDirectory, isExecutable, moduleHash, onPath } from "../packages/testing/src/control-plane/find-control-plane.ts";
import { buildBeside } from "./build-beside.ts";
import { run } from "./run.ts";
import { root } from "./workspace.ts";

const mainPackage = "sigs.k8s.io/metrics-server/cmd/metrics-server";
const moduleDirectory = join(root, "tools/metrics-server");

type Environment = Readonly<Record<string, string | undefined>>;

/** Why no metrics-server can be had, and how to get one; `undefined` if one can. */
export function missingMetricsServer(environment: Environment = process.env): string | undefined {
  if (isExecutable(programPath(environment)) || goPath(environment) !== undefined) return undefined;
  return "there is no Go on the PATH to build metrics-server with (https://go.dev/dl, 1.26 or newer); install it, or set METRICS_SERVER to the program";
}

/**
 * Path of metrics-server, built first where need be, which takes some minutes once.
 *
 * @throws Error if it cannot be built, with Go's words
 */
export async function ensureMetricsServer(environment: Environment = process.env): Promise<string> {
  const program = programPath(environment);
  if (isExecutable(program)) return program;
  const go = goPath(environment);
  if (go === undefined) throw new Error(missingMetricsServer(environment));
  console.log(`metrics-server is built once with ${go} into ${dirname(program)}: some minutes`);
  await buildBeside(dirname(program), async (output) => {
    const args = ["build", "-o", `${output}/`, "-ldflags", "-s -w", mainPackage];
    const { code, output: words } = await run(go, args, { cwd: moduleDirectory, timeoutMs: 1_800_000 });
    if (code !== 0) throw new Error(`build metrics-server in ${moduleDirectory}: ${words}`);
  });
  return program;
}

function programPath(environment: Environment): string {
  return (
    environment["METRICS_SERVER"] || join(cacheDirectory("metrics-server", environment), moduleHash(moduleDirectory), "metrics-server")
  );
}

function goPath(environment: Environment): string | undefined {
  return onPath("go", environment["PATH"] ?? "");
}
