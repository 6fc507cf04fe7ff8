import { levels, otherLevels, type Level } from "./levels.ts";
import type { Counts } from "./vitest-report.ts";

/** How one level went. */
interface Outcome {
  readonly level: Level;
  readonly counts: Counts;
  readonly seconds: number;
  /** Why it did not run, if it did not. */
  readonly leftOut: string | undefined;
}

/** Runs a level, or says why it cannot run here; with `requireAll` that is a failure. */
async function runLevel(level: Level, requireAll: boolean): Promise<Outcome> {
  const leftOut = level.missing?.();
  if (leftOut !== undefined)
    return { level, counts: { passed: 0, failed: requireAll ? 1 : 0, skipped: requireAll ? 0 : 1, failures: [] }, seconds: 0, leftOut };
  console.log(`\n== ${level.name}: ${level.about}`);
  const start = performance.now();
  let counts: Counts;
  try {
    counts = await level.run();
  } catch (error) {
    console.error(error);
    counts = { passed: 0, failed: 1, skipped: 0, failures: [String(error)] };
  }
  return { level, counts, seconds: (performance.now() - start) / 1000, leftOut };
}

function printSummary(outcomes: readonly Outcome[]): void {
  console.log(`\n${"level".padEnd(14)}${"passed".padStart(8)}${"failed".padStart(8)}${"skipped".padStart(9)}${"seconds".padStart(9)}`);
  for (const { level, counts, seconds } of outcomes) {
    const numbers = [
      String(counts.passed).padStart(8),
      String(counts.failed).padStart(8),
      String(counts.skipped).padStart(9),
      seconds.toFixed(1).padStart(9),
    ];
    console.log(level.name.padEnd(14) + numbers.join(""));
  }
  for (const { level, leftOut } of outcomes) if (leftOut !== undefined) console.log(`left out: ${level.name}: ${leftOut}`);
  for (const { command, about } of otherLevels) console.log(`not part of CI: ${command}: ${about}`);
  for (const { level, counts } of outcomes) for (const failure of counts.failures) console.log(`failed: ${level.name}: ${failure}`);
}

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => levels.every((level) => level.name !== name));
if (unknown !== undefined) {
  console.error(`LEVEL is "${unknown}"; expected one of ${levels.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

const requireAll = process.env["REQUIRE_ALL"] === "1";
const outcomes: Outcome[] = [];
for (const level of levels.filter(({ name }) => wanted.length === 0 || wanted.includes(name)))
  outcomes.push(await runLevel(level, requireAll));

const sum = (key: "passed" | "failed" | "skipped"): number => outcomes.reduce((total, { counts }) => total + counts[key], 0);
printSummary(outcomes);
console.log(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`);
if (sum("failed") > 0) process.exitCode = 1;
