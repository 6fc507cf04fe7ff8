import { expect, test } from "vitest";
import { applyMergePatch } from "./merge-patch.ts";

test.each([
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])("RFC 7386: %j with %j is %j", (target, patch, expected) => {
  expect(applyMergePatch(target, patch)).toEqual(expected);
});

test("a merge patch changes neither of its arguments", () => {
  const target = { a: { b: 1 } };
  const patch = { a: { b: null, c: 2 } };

  applyMergePatch(target, patch);

  expect([target, patch]).toEqual([{ a: { b: 1 } }, { a: { b: null, c: 2 } }]);
});

test("a merge patch drops null from the items of a list, unless the list replaces an object", () => {
  const list = [{ a: null, b: [{ c: null, d: 1 }] }, null];

  expect(applyMergePatch({ x: [] }, { x: list })).toEqual({ x: [{ b: [{ d: 1 }] }, null] });
  expect(applyMergePatch({}, { x: list })).toEqual({ x: [{ b: [{ d: 1 }] }, null] });
  expect(applyMergePatch({ x: {} }, { x: list })).toEqual({ x: list });
});
