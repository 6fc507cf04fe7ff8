import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { reportFolder } from "./level-runs.ts";
import { levels } from "./levels.ts";
import type { Level, Outcome } from "./level.ts";
import type { Counts } from "./vitest-report.ts";

/** How {@link runLevel} runs a level. */
export interface RunLevelOptions {
  readonly requireAll: boolean;
  /** Only tests in these files; empty: all of them. */
  readonly files: readonly string[];
  /** Show the output as it comes, instead of writing it to a file of `.reports/` and showing it if the level fails. */
  readonly live: boolean;
  /** Default: standard output. */
  readonly print?: (text: string) => void;
}

/** How much of a failed level's log is shown, in lines; the rest is in the file. */
const shownLines = 400;

/** Runs a level, or says why it cannot run here; with `requireAll` that, and a skipped test, is a failure. */
export async function runLevel(level: Level, { requireAll, files, live, print = console.log }: RunLevelOptions): Promise<Outcome> {
  const leftOut = whyMissing(level);
  if (leftOut !== undefined) return { level, counts: countLeftOut(leftOut, requireAll), seconds: 0, leftOut };
  print(live ? `\n== ${level.name}: ${level.about}` : `… ${level.name}: ${level.about}`);
  const start = performance.now();
  mkdirSync(reportFolder, { recursive: true });
  const logFile = join(reportFolder, `${level.name}.log`);
  // Another user's log may be there, from a run with sudo.
  rmSync(logFile, { recursive: true, force: true });
  const log = openSync(logFile, "w");
  const say = live ? (line: string) => print(line) : (line: string) => void writeSync(log, `${line}\n`);
  let counts: Counts;
  try {
    counts = checkCounts(await level.run({ files, say, output: live ? "inherit" : log }), requireAll);
  } catch (error) {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    counts = { passed: 0, failed: 1, skipped: 0, failures: [String(error)] };
  } finally {
    closeSync(log);
  }
  const seconds = (performance.now() - start) / 1000;
  if (!live) {
    if (counts.failed > 0) print(lastLines(readFileSync(logFile, "utf8"), logFile));
    const word = counts.failed > 0 ? "FAIL" : "ok  ";
    print(`${word} ${level.name}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped in ${seconds.toFixed(0)} s`);
  }
  return { level, counts, seconds, leftOut: undefined };
}

/** What keeps a level from running here; a look that fails is such a thing too. */
export function whyMissing(level: Level): string | undefined {
  try {
    return level.missing?.();
  } catch (error) {
    return String(error);
  }
}

function countLeftOut(why: string, requireAll: boolean): Counts {
  return requireAll ? { passed: 0, failed: 1, skipped: 0, failures: [why] } : { passed: 0, failed: 0, skipped: 1, failures: [] };
}

/** What did not run does not count as passed: a level without a test fails, and with `requireAll` one with a skipped test. */
export function checkCounts(counts: Counts, requireAll: boolean): Counts {
  const { passed, failed, skipped } = counts;
  if (passed + failed + skipped === 0) return { ...counts, failed: 1, failures: ["no test was run"] };
  if (skipped === 0 || !requireAll) return counts;
  return { ...counts, failed: failed + 1, failures: [...counts.failures, `${skipped} skipped, and REQUIRE_ALL=1 lets nothing be skipped`] };
}

function lastLines(text: string, file: string): string {
  const lines = text.trimEnd().split("\n");
  return lines.length <= shownLines ? lines.join("\n") : [`(the end of ${file})`, ...lines.slice(-shownLines)].join("\n");
}

/** The level with this name. */
export function levelNamed(name: string): Level {
  const level = levels.find((each) => each.name === name);
  if (level === undefined) throw new Error(`there is no level ${name}`);
  return level;
}
