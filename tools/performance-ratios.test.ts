import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ratioTable, shownSide, type ShownRow, type ShownSide } from "../bench/src/ratios.ts";
import { root } from "./workspace.ts";

/** Reads a row of the guide's table of contenders. @returns `undefined` for any other line */
function parseRow(line: string): ShownRow | undefined {
  const cells = line
    .split("|")
    .map((cell) => cell.trim())
    .slice(1, -1);
  const [name = "", ...figures] = cells;
  if (figures.length !== 8 || !/^\d/.test(figures[0] ?? "")) return undefined;
  const numbers = figures.flatMap((figure) => figure.split("/").map((each) => Number(each.replace("ms", ""))));
  return { name, up: sideOf(numbers.slice(0, 5)), down: sideOf(numbers.slice(5)) };
}

function sideOf([podsPerSecond = NaN, p50Ms = NaN, p99Ms = NaN, cpuSeconds = NaN, peakRssMiB = NaN]: readonly number[]): ShownSide {
  return { podsPerSecond, p50Ms, p99Ms, cpuSeconds, peakRssMiB };
}

test("the performance guide shows every ratio of its figures, also the unfavourable ones", () => {
  const guide = readFileSync(join(root, "docs/guides/performance.md"), "utf8");
  const race = guide.slice(guide.indexOf("<!-- begin measured -->"), guide.indexOf("<!-- end measured -->"));
  const rows = race.split("\n").flatMap((line) => parseRow(line) ?? []);
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
