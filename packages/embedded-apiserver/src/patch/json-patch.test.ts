import { expect, test } from "vitest";
import type { JsonValue } from "../json/json-value.ts";
import { applyJsonPatch } from "./json-patch.ts";

test.each<[string, JsonValue, JsonValue, JsonValue]>([
  ["adds a member", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
  ["inserts into a list", { l: [1, 3] }, [{ op: "add", path: "/l/1", value: 2 }], { l: [1, 2, 3] }],
  ["appends to a list", { l: [1] }, [{ op: "add", path: "/l/-", value: 2 }], { l: [1, 2] }],
  ["removes a member", { a: 1, b: 2 }, [{ op: "remove", path: "/a" }], { b: 2 }],
  ["removes from a list", { l: [1, 2] }, [{ op: "remove", path: "/l/0" }], { l: [2] }],
  ["replaces", { a: { b: 1 } }, [{ op: "replace", path: "/a/b", value: 2 }], { a: { b: 2 } }],
  ["replaces the whole document", { a: 1 }, [{ op: "replace", path: "", value: [1] }], [1]],
  ["moves", { a: { b: 1 }, c: {} }, [{ op: "move", from: "/a/b", path: "/c/d" }], { a: {}, c: { d: 1 } }],
  [
    "copies",
    { a: { b: 1 } },
    [
      { op: "copy", from: "/a", path: "/c" },
      { op: "replace", path: "/c/b", value: 2 },
    ],
    { a: { b: 1 }, c: { b: 2 } },
  ],
  [
    "goes on after a test that holds",
    { a: [1] },
    [
      { op: "test", path: "/a", value: [1] },
      { op: "remove", path: "/a" },
    ],
    {},
  ],
  [
    "reads ~1 as a slash and ~0 as a tilde",
    { "a/b": 1, "c~d": 2 },
    [
      { op: "remove", path: "/a~1b" },
      { op: "remove", path: "/c~0d" },
    ],
    {},
  ],
])("a JSON patch %s", (_name, document, patch, expected) => {
  expect(applyJsonPatch(document, patch)).toEqual(expected);
});

test.each<[string, JsonValue]>([
  ["a test that fails", [{ op: "test", path: "/a", value: 2 }]],
  ["removing what is not there", [{ op: "remove", path: "/x" }]],
  ["replacing what is in nothing", [{ op: "replace", path: "/x/y", value: 1 }]],
  ["an index beyond the list", [{ op: "add", path: "/l/5", value: 1 }]],
  ["an index that is no number", [{ op: "add", path: "/l/x", value: 1 }]],
  ["a path below a scalar", [{ op: "add", path: "/a/b", value: 1 }]],
  ["an unknown operation", [{ op: "merge", path: "/a" }]],
])("a JSON patch is refused with 422 for %s", (_name, patch) => {
  expect(() => applyJsonPatch({ a: 1, l: [1] }, patch)).toThrow(
    expect.objectContaining({ status: expect.objectContaining({ code: 422 }) }),
  );
});

test("a JSON patch that is not a list is refused with 400", () => {
  expect(() => applyJsonPatch({}, { op: "add" })).toThrow(expect.objectContaining({ status: expect.objectContaining({ code: 400 }) }));
});

test("a JSON patch does not change the document", () => {
  const document = { a: [1] };

  applyJsonPatch(document, [{ op: "add", path: "/a/-", value: 2 }]);

  expect(document).toEqual({ a: [1] });
});
