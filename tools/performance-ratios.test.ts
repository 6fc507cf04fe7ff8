import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseRow, ratioTable, shownSide } from "../bench/src/ratios.ts";
import { root } from "./workspace.ts";

test("the performance guide shows every ratio of its figures, also the unfavourable ones", () => {
  const guide = readFileSync(join(root, "docs/guides/performance.md"), "utf8");
  const rows = guide.split("\n").flatMap((line) => parseRow(line) ?? []);
  const contenders = rows.filter(({ name }) => !name.startsWith("ours-"));

  expect(contenders.map(({ name }) => name)).toEqual(["ours", "bare loop", "kwok"]);
  expect(guide).toContain(ratioTable(contenders).join("\n"));
});

test("ratios are of the figures as they are shown", () => {
  const side = { podsPerSecond: 99.6, p50Ms: 10.4, p99Ms: 20.5, cpuSeconds: 1.006, peakRssMiB: 80.2 };
  const one = { name: "ours", up: shownSide(side), down: shownSide(side) };
  const two = { name: "kwok", up: { ...one.up, p50Ms: 5 }, down: one.down };

  expect(ratioTable([one, two])).toContain("| create→Running p50 | less | 2.00 | ≤ 0.33 |");
  expect(parseRow("| kwok | 100 | 5 ms / 21 ms | 1.01 | 80 | 100 | 10 ms / 21 ms | 1.01 | 80 |")).toEqual(two);
  expect(parseRow("| ratio | aim | measured |")).toBeUndefined();
});
