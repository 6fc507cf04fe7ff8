import { dirname, join } from "node:path";
import { isExecutable } from "../packages/testing/src/control-plane/find-control-plane.ts";
import { buildBeside } from "./build-beside.ts";
import { findGo, GoModule, type Environment } from "./go-module.ts";

const mainPackage = "sigs.k8s.io/metrics-server/cmd/metrics-server";
const module = new GoModule("metrics-server");

/** Why no metrics-server can be had, and how to get one; `undefined` if one can. */
export function missingMetricsServer(environment: Environment = process.env): string | undefined {
  if (isExecutable(programPath(environment)) || findGo(environment) !== undefined) return undefined;
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
  const go = findGo(environment);
  if (go === undefined) throw new Error(missingMetricsServer(environment));
  console.log(`metrics-server is built once with ${go} into ${dirname(program)}: some minutes`);
  await buildBeside(dirname(program), (output) => module.build(go, ["build", "-o", `${output}/`, "-ldflags", "-s -w", mainPackage]));
  return program;
}

function programPath(environment: Environment): string {
  return environment["METRICS_SERVER"] || join(module.builtFolder(environment), "metrics-server");
}
