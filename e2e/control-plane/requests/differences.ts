import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Comparison } from "./compare.ts";

/** Names of the requests, or commands, that are answered otherwise, by the reason why that is accepted. */
export type Differences = Readonly<Record<string, readonly string[]>>;

/** Reason of the requests that nobody has looked at. */
export const unexplained = "not looked at";

const fileIn = (folder: string): string => join(folder, "differences.json");

/** @param folder - folder of the list; default: that of the requests */
export function readDifferences(folder: string = import.meta.dirname): Differences {
  return JSON.parse(readFileSync(fileIn(folder), "utf8")) as Differences;
}

/** @param folder - as for {@link readDifferences} */
export function writeDifferences(differences: Differences, folder: string = import.meta.dirname): void {
  writeFileSync(fileIn(folder), `${JSON.stringify(differences, undefined, 2)}\n`);
}

/** Differences of a run: reasons are kept, requests that are answered alike are dropped, and new ones are {@link unexplained}. */
export function updateDifferences(known: Differences, comparisons: readonly Pick<Comparison, "name" | "isIdentical">[]): Differences {
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
