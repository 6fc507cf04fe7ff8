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
  expect(cells.at(labels)).toEqual({ zone: "b" });
});

test("values that are no texts, as from providers without types, share the cell of their texts", () => {
  const cells = cellsOf("code");
  const untyped: Readonly<Record<string, unknown>>[] = [{ code: 200 }, { code: undefined }];
  const [number, none] = untyped.map((labels) => cells.at(labels as Readonly<Record<string, string>>));

  expect([cells.at({ code: "200" }), cells.at({ code: "" })]).toEqual([number, none]);
  expect(cells.all).toEqual([{ code: "200" }, { code: "" }]);
});
