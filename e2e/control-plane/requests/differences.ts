import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Comparison } from "./compare.ts";

/** Names of the requests that are answered otherwise, by the reason why that is accepted. */
export type Differences = Readonly<Record<string, readonly string[]>>;

/** Reason of the requests that nobody has looked at. */
export const unexplained = "not looked at";

const file = join(import.meta.dirname, "differences.json");

export function readDifferences(): Differences {
  return JSON.parse(readFileSync(file, "utf8")) as Differences;
}

export function writeDifferences(differences: Differences): void {
  writeFileSync(file, `${JSON.stringify(differences, undefined, 2)}\n`);
}

/** Differences of a run: reasons are kept, requests that are answered alike are dropped, and new ones are {@link unexplained}. */
export function updateDifferences(known: Differences, comparisons: readonly Comparison[]): Differences {
  const differing = comparisons.flatMap(({ name, isIdentical }) => (isIdentical ? [] : [name]));
  const explained = new Set(Object.values(known).flat());
  const entries = Object.entries({
    ...known,
    [unexplained]: differing.filter((name) => !explained.has(name) || known[unexplained]?.includes(name)),
  });
  return Object.fromEntries(
    entries
      .map(([reason, names]) => [reason, names.filter((name) => differing.includes(name)).toSorted()] as const)
      .filter(([, names]) => names.length > 0),
  );
}
