import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { cacheDirectory, isExecutable, onPath } from "../packages/testing/src/control-plane/find-control-plane.ts";
import { run } from "./run.ts";

/** Packages of PyPI that tests run, in a virtual environment of their own. */
export interface PythonPackages {
  /** Name in messages. */
  readonly name: string;
  /** Folder of the cache, and end of the program's name. */
  readonly folder: string;
  /** Path of the requirements file, with exact versions. */
  readonly requirements: string;
  /** Environment variable that names a Python which has the packages. */
  readonly variable: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reason why the packages are not available, and how to get them; `undefined` if they are available. */
export function missingPackages(packages: PythonPackages, environment: Environment = process.env): string | undefined {
  const { name, variable } = packages;
  if (isExecutable(pythonPath(packages, environment))) return undefined;
  const python = onPath("python3", environment["PATH"] ?? "");
  const hint = `install Python 3.11 or newer with venv (Debian: python3-venv), or set ${variable} to a Python that has ${name}`;
  if (python === undefined) return `there is no python3 on the PATH to install ${name} with; ${hint}`;
  const probe = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
  return spawnSync(python, ["-c", probe]).status === 0 ? undefined : `${python} is too old, or has no venv and pip; ${hint}`;
}

/**
 * Path of a Python that has the packages; installed first where need be, which takes some minutes once.
 *
 * @throws Error if they cannot be installed, with pip's words
 */
export async function ensurePackages(packages: PythonPackages, environment: Environment = process.env): Promise<string> {
  const python = pythonPath(packages, environment);
  if (isExecutable(python)) return python;
  const directory = dirname(dirname(python));
  console.log(`${packages.name} is installed once into ${directory}: some minutes`);
  // A virtual environment cannot be moved, so it is created in its final place, and an incomplete one is created again.
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(dirname(directory), { recursive: true });
  const pip = ["install", "--quiet", "--disable-pip-version-check", "--no-input", "--requirement", packages.requirements];
  const steps = [
    ["python3", "-m", "venv", directory],
    [join(directory, "bin/pip"), ...pip],
  ] as const;
  for (const [program, ...args] of steps) {
    const { code, output } = await run(program, args, { timeoutMs: 1_800_000 });
    if (code !== 0) throw new Error(`install ${packages.name}: ${program} ${args[0]} ended with ${code}: ${output.slice(-2000)}`);
  }
  // This link marks a complete environment.
  symlinkSync("python3", python);
  return python;
}

function pythonPath({ folder, requirements, variable }: PythonPackages, environment: Environment): string {
  const hash = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 16);
  return environment[variable] || join(cacheDirectory(folder, environment), hash, `bin/python-with-${folder}`);
}
