import type { Outcome } from "./level.ts";

/** The table of a run, what it left out, and, alone on the last line, the counts. */
export function summary(outcomes: readonly Outcome[], notes: readonly string[]): string[] {
  const row = (name: string, ...cells: readonly string[]): string =>
    name.padEnd(14) + cells.map((cell, index) => cell.padStart(index === 2 ? 9 : index === 3 ? 9 : 8)).join("");
  const sum = (key: "passed" | "failed" | "skipped"): number => outcomes.reduce((total, { counts }) => total + counts[key], 0);
  return [
    "",
    row("level", "passed", "failed", "skipped", "seconds"),
    ...outcomes.map(({ level, counts: { passed, failed, skipped }, seconds }) =>
      row(level.name, String(passed), String(failed), String(skipped), seconds.toFixed(1)),
    ),
    ...outcomes.flatMap(({ level, leftOut }) => (leftOut === undefined ? [] : [`left out: ${level.name}: ${leftOut}`])),
    ...notes,
    ...outcomes.flatMap(({ level, counts: { failures } }) => failures.map((failure) => `failed: ${level.name}: ${failure}`)),
    `${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`,
  ];
}
