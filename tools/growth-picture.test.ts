import { expect, test } from "vitest";
import { growthTable, type GrowthData, type GrowthRun } from "../bench/src/growth-data.ts";
import { drawGrowth, drawPauses } from "../bench/src/growth-picture.ts";

const run = (contender: GrowthRun["contender"], pods: number, peakMiB: number): GrowthRun => ({
  contender,
  pods,
  podsPerSecond: 400,
  missing: 0,
  cpuSeconds: pods / 1000,
  idleMiB: 80,
  peakMiB,
  restMiB: peakMiB,
});

const data: GrowthData = {
  circumstances: "2026-11-28, a machine",
  kubernetes: "v1.36.3",
  runs: [run("ours", 20_000, 280), run("bare loop", 20_000, 180), run("ours", 100, 90), run("bare loop", 100, 85)],
  firstList: { pods: 20_000, seconds: 0.3, binMs: 100, ours: [3.2, 41.6, 7], idle: [1.1, 9.9, 1.2] },
};

test("the table of growth has a row for each number of pods and the longest pauses", () => {
  const table = growthTable(data);

  expect(table).toContain("| 100 | 90 | 85 | 102.4 | 51.2 | 1.00 | 1.00 | 400 | 400 |\n| 20000 | 280 | 180 | 10.2 | 5.1 |");
  expect(table).toContain("| our node | ≤ 50 ms | 42 ms |");
  expect(table).toContain("| a program that does nothing, at the same time | | 10 ms |");
});

test.each([
  ["growth", drawGrowth],
  ["pauses", drawPauses],
])("the picture of %s is the same for the same data, has a title, and a dark scheme", (_, draw) => {
  const svg = draw(data);

  expect(draw(data)).toBe(svg);
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" /);
  expect(svg).toContain("<title>");
  expect(svg).toContain("@media(prefers-color-scheme:dark)");
  expect(svg).not.toMatch(/script|ecmeta|NaN/);
});

test("every color of the pictures has one in the dark scheme", () => {
  const svg = drawGrowth(data) + drawPauses(data);
  const dark = /@media\(prefers-color-scheme:dark\)\{(.*)\}<\/style>/.exec(svg)?.[1] ?? "";
  const used = new Set([...svg.matchAll(/ (?:fill|stroke)="(#[0-9a-f]+)"/g)].map(([, color = ""]) => color));

  // Clip paths and the icons of the legend, which are lines, have a fill that nobody sees.
  used.delete("#000");
  expect([...used].filter((color) => !dark.includes(`"${color}"`))).toEqual([]);
});

test("a picture shows every measurement", () => {
  const more = { ...data, runs: [...data.runs, run("ours", 2_000, 130)] };

  expect(drawGrowth(more)).not.toBe(drawGrowth(data));
  expect(drawPauses({ ...data, firstList: { ...data.firstList, ours: [3.2, 41.7, 7] } })).not.toBe(drawPauses(data));
});
