import { expect, test } from "vitest";
import type { JsonValue } from "../json/json-value.ts";
import type { JsonSchema } from "./crd-fields.ts";
import { Correlation } from "./correlation.ts";
import { listTypeErrors } from "./list-types.ts";

const item: JsonSchema = { type: "object", properties: { a: { type: "string" }, b: { type: "integer" } } };
const map: JsonSchema = {
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["a", "b"],
  items: item,
};
const set = { type: "array", "x-kubernetes-list-type": "set", items: {} } as JsonSchema;

test("items of a set are equal by value and type, whatever the order of their keys", () => {
  const value = [1, "1", { a: 1, b: 2 }, { b: 2, a: 1 }, [1], "1"];

  expect(listTypeErrors(value, set, "list").map(({ field }) => field)).toEqual(["list[3]", "list[5]"]);
});

test("an entry of a map is named in brackets", () => {
  const schema = { type: "object", additionalProperties: set } as JsonSchema;

  expect(listTypeErrors({ x: ["1", "1"] }, schema, "map")).toMatchObject([{ field: "map[x][1]" }]);
});

test("an item of a list with keys is beside the first old item with the same keys, of which some may be absent", () => {
  const old: JsonValue = [{ a: "x" }, { a: "x", b: 1, c: "first" }, { a: "x", b: 1, c: "second" }];
  const correlation = new Correlation([{ b: 1, a: "x" }, { a: "x" }, { a: "y" }], old, map);

  expect([0, 1, 2].map((index) => correlation.index(index)?.old)).toEqual([{ a: "x", b: 1, c: "first" }, { a: "x" }, undefined]);
});

// With a comparison of all pairs this takes minutes.
test("lists of 50,000 items are checked at once", { timeout: 20_000 }, () => {
  const value = Array.from({ length: 50_000 }, (_, index) => ({ a: String(index), b: index }));
  const correlation = new Correlation(value, value.toReversed(), map);

  expect(listTypeErrors(value, map, "list")).toEqual([]);
  expect(correlation.isEqual).toBe(true);
});
