import { expect, test } from "vitest";
import { LabelledCells } from "./labelled-cells.ts";

const cellsOf = (...labelNames: string[]): LabelledCells<Readonly<Record<string, string>>> =>
  new LabelledCells("a_total", labelNames, (labels) => labels);

test("equal labels have one cell, in whichever order they are written", () => {
  const cells = cellsOf("zone", "code");
  const first = cells.at({ zone: "a", code: "OK" });

  expect(cells.at({ code: "OK", zone: "a" })).toBe(first);
  expect(cells.at({ zone: "OK", code: "a" })).not.toBe(first);
  expect(cells.all).toEqual([
    { zone: "a", code: "OK" },
    { zone: "OK", code: "a" },
  ]);
});

test("labels that are left out have a cell of their own", () => {
  const cells = cellsOf("zone", "code");

  const cell = cells.at({});
  cells.at({ zone: "a" });

  expect(cells.at({})).toBe(cell);
  expect(cells.all).toEqual([{}, { zone: "a" }]);
});

test("a cell keeps its labels when the caller changes the object", () => {
  const cells = cellsOf("zone");
  const labels = { zone: "a" };
  cells.at(labels);
  labels.zone = "b";

  expect(cells.all).toEqual([{ zone: "a" }]);
});
