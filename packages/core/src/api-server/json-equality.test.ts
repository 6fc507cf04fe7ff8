import { expect, test } from "vitest";
import { isEmptyJson, isSameJson } from "./json-equality.ts";

test.each([
  ["equal scalars", 1, 1],
  ["absent and null", undefined, null],
  ["absent and an empty list", undefined, []],
  ["null and a map of empty things", null, { a: [], b: {} }],
  ["absent and a map of empty things", undefined, { a: [], b: { c: null } }],
  ["an empty list and an empty map", [], {}],
  ["maps in another order", { a: 1, b: 2 }, { b: 2, a: 1 }],
  ["maps of which one has what says nothing besides", { a: 1, b: {} }, { a: 1, c: [] }],
  ["lists of the same", [{ a: 1 }, 2], [{ a: 1 }, 2]],
  ["two ways to write a time", "2026-05-01T12:00:00Z", "2026-05-01T14:00:00.000+02:00"],
])("%s are the same", (_what, a, b) => {
  expect([isSameJson(a, b), isSameJson(b, a)]).toEqual([true, true]);
});

test.each([
  ["other scalars", 1, 2],
  ["a number and its text", 1, "1"],
  ["other texts", "a", "b"],
  ["a text and none", "a", undefined],
  ["an empty text and none", "", undefined],
  ["zero and none", 0, undefined],
  ["false and none", false, undefined],
  ["lists of other lengths", [1], [1, 2]],
  ["lists in another order", [1, 2], [2, 1]],
  ["a list and a map", [1], { 0: 1 }],
  ["maps of which one has more", { a: 1 }, { a: 1, b: 2 }],
  ["maps with another value", { a: 1 }, { a: 2 }],
  ["a map with a key that every object inherits", {}, { constructor: "x" }],
  ["other times", "2026-05-01T12:00:00Z", "2026-05-01T12:00:01Z"],
  ["two texts of which one is a time", "2026-05-01T12:00:00Z", "noon"],
  ["two texts that only begin or end as times", "at 2026-05-01T12:00:00Z", "at 2026-05-01T12:00:00+00:00"],
  ["two texts that are no times", "nonsense", "other nonsense"],
])("%s are not the same", (_what, a, b) => {
  expect([isSameJson(a, b), isSameJson(b, a)]).toEqual([false, false]);
});

test("a map that inherits a key does not have it", () => {
  expect(isSameJson({ toString: undefined }, {})).toBe(true);
  expect(isSameJson({ toString: "x" }, {})).toBe(false);
});

test("what says something is not empty", () => {
  expect([0, false, "", "a", [0], { a: "" }].map(isEmptyJson)).toEqual([false, false, false, false, false, false]);
});
