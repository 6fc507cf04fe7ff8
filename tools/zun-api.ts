import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { cacheDirectory, isExecutable, onPath } from "../packages/testing/src/control-plane/find-control-plane.ts";
import { run } from "./run.ts";
import { root } from "./workspace.ts";

const requirements = join(root, "e2e/zun/zun-api/requirements.txt");

type Environment = Readonly<Record<string, string | undefined>>;

/** Reason why Zun's API is not available, and how to get it; `undefined` if it is available. */
export function missingZunApi(environment: Environment = process.env): string | undefined {
  if (isExecutable(pythonPath(environment))) return undefined;
  const python = onPath("python3", environment["PATH"] ?? "");
  const hint = "install Python 3.11 or newer with venv (Debian: python3-venv), or set ZUN_API_PYTHON to a Python that has zun 18";
  if (python === undefined) return `there is no python3 on the PATH to install Zun's API with; ${hint}`;
  const probe = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
  return spawnSync(python, ["-c", probe]).status === 0 ? undefined : `${python} is too old, or has no venv and pip; ${hint}`;
}

/**
 * Path of a Python that has Zun, with the versions of e2e/zun/zun-api/requirements.txt; installed first where need be, which takes some
 * minutes once.
 *
 * @throws Error if it cannot be installed, with pip's words
 */
export async function ensureZunApi(environment: Environment = process.env): Promise<string> {
  const python = pythonPath(environment);
  if (isExecutable(python)) return python;
  const directory = dirname(dirname(python));
  console.log(`Zun's API is installed once into ${directory}: some minutes`);
  // A virtual environment cannot be moved, so it is created in its final place, and an incomplete one is created again.
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(dirname(directory), { recursive: true });
  const steps = [
    ["python3", "-m", "venv", directory],
    [join(directory, "bin/pip"), "install", "--quiet", "--disable-pip-version-check", "--no-input", "--requirement", requirements],
  ] as const;
  for (const [program, ...args] of steps) {
    const { code, output } = await run(program, args, { timeoutMs: 1_800_000 });
    if (code !== 0) throw new Error(`install Zun's API: ${program} ${args[0]} ended with ${code}: ${output.slice(-2000)}`);
  }
  // This link marks a complete environment.
  symlinkSync("python3", python);
  return python;
}

function pythonPath(environment: Environment): string {
  const hash = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 16);
  return environment["ZUN_API_PYTHON"] || join(cacheDirectory("zun-api", environment), hash, "bin/python-with-zun");
}
