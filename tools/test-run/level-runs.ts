import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { printChecks, type CheckResult } from "../check.ts";
import { run } from "../run.ts";
import { root } from "../workspace.ts";
import type { Level, LevelRun } from "./level.ts";
import { countReport, type Counts, type VitestReport } from "./vitest-report.ts";

/** Where levels leave reports and logs. */
export const reportFolder: string = join(root, ".reports");

/** Node.js' compile cache, shared by the many processes that tests start. */
const compileCache = join(root, "node_modules/.cache/node-compile");

/** Runs a command as a check: it passes if it ends with 0, and its output is the problem otherwise. */
export async function command(name: string, program: string, args: readonly string[] = [], timeoutMs = 600_000): Promise<CheckResult> {
  const { code, output } = await run(program, args, { timeoutMs });
  return { name, problems: code === 0 ? [] : [output] };
}

/** Runs a level's checks, prints their results and counts them. */
export function checks(all: () => Promise<readonly CheckResult[]>): Level["run"] {
  return async ({ say }) => counted(await all(), say);
}

export function counted(results: readonly CheckResult[], say: (text: string) => void): Counts {
  return { ...printChecks(results, say), skipped: 0 };
}

/** Runs one project of vitest.config.ts and counts its JSON report. */
export async function vitest(
  project: string,
  { files, output }: LevelRun,
  env: Readonly<Record<string, string>> = {},
  wrap: (command: readonly [string, ...string[]]) => readonly [string, ...string[]] = (each) => each,
): Promise<Counts> {
  const file = join(reportFolder, `${project}.json`);
  rmSync(file, { force: true });
  mkdirSync(reportFolder, { recursive: true });
  const [program, ...args] = wrap([
    "vitest",
    "run",
    // Bundling it would leave a file, root's or the user's, in a folder that both write to.
    "--configLoader=native",
    "--project",
    project,
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${file}`,
    ...files,
  ]);
  const { code } = await run(program, args, { env: { NODE_COMPILE_CACHE: compileCache, ...env }, output });
  return countReport(existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as VitestReport) : undefined, code);
}
