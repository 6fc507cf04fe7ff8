import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestAPI } from "vitest";
import { test, type ParityFixtures } from "./parity-test.ts";

const suite = join(import.meta.dirname, "..");
const readme = join(import.meta.dirname, "../../../packages/embedded-apiserver/README.md");

/**
 * A test of a difference between the servers. Its name is the row of "Known differences" in packages/embedded-apiserver/README.md, written as
 * one string, so that {@link testedDifferences} finds it.
 */
export const difference: TestAPI<ParityFixtures> = test;

/** First cells of the table "Known differences". */
export function listedDifferences(): string[] {
  const [, section = ""] = readFileSync(readme, "utf8").split("\n## Known differences\n");
  const [table = ""] = section.split("\n## ");
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  return rows.map((row) => (row.split(" | ")[0] ?? "").slice("| ".length)).filter((name) => name !== "Behaviour");
}

/** Names of the calls of {@link difference} in all files of the suite. */
export function testedDifferences(): string[] {
  const files = readdirSync(suite).filter((file) => file.endsWith(".test.ts"));
  return files.flatMap((file) =>
    [...readFileSync(join(suite, file), "utf8").matchAll(/^difference\("([^"]+)"/gm)].map(([, name = ""]) => name),
  );
}
