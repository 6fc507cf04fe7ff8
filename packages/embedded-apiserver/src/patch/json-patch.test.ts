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
  ["counts a negative index from behind the last item", { l: [1, 2] }, [{ op: "add", path: "/l/-1", value: 3 }], { l: [1, 2, 3] }],
  ["reads an index as Go reads integers", { l: [1, 2] }, [{ op: "remove", path: "/l/+01" }], { l: [1] }],
  ["ignores the text before the first slash", { a: 1 }, [{ op: "replace", path: "x/a", value: 2 }], { a: 2 }],
  ["copies what is not there as null", { a: 1 }, [{ op: "copy", from: "/x", path: "/b" }], { a: 1, b: null }],
  ["changes nothing if it is null", { a: 1 }, null, { a: 1 }],
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
  ["an index before the list", [{ op: "add", path: "/l/-3", value: 1 }]],
  ["a path without a slash", [{ op: "add", path: "b", value: 1 }]],
  ["adding the whole document", [{ op: "add", path: "", value: {} }]],
  ["replacing the whole document by a scalar", [{ op: "replace", path: "", value: 5 }]],
  ["an operation that is null", [null]],
  ["an unknown operation", [{ op: "merge", path: "/a" }]],
])("a JSON patch is refused with 422 for %s", (_name, patch) => {
  expect(() => applyJsonPatch({ a: 1, l: [1] }, patch)).toThrow(
    expect.objectContaining({ status: expect.objectContaining({ code: 422 }) }),
  );
});

test.each<[JsonValue, string]>([
  [{ op: "add" }, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"],
  [true, "json: cannot unmarshal bool into Go value of type []handlers.jsonPatchOp"],
  [[[]], "json: cannot unmarshal array into Go value of type handlers.jsonPatchOp"],
  [[{ op: "add", path: 5 }], "json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string"],
])("%j is refused with 400, because it is no JSON patch", (patch, problem) => {
  expect(() => applyJsonPatch({}, patch)).toThrow(
    expect.objectContaining({ status: expect.objectContaining({ code: 400, message: `error decoding patch: ${problem}` }) }),
  );
});

test("a JSON patch has at most 10,000 operations", () => {
  const patch = (count: number): JsonValue => Array.from({ length: count }, () => ({ op: "test", path: "/a", value: 1 }));

  expect(applyJsonPatch({ a: 1 }, patch(10_000))).toEqual({ a: 1 });
  expect(() => applyJsonPatch({ a: 1 }, patch(10_001))).toThrow(
    expect.objectContaining({ status: expect.objectContaining({ code: 413 }) }),
  );
});

test("a JSON patch does not change the document", () => {
  const document = { a: [1] };

  applyJsonPatch(document, [{ op: "add", path: "/a/-", value: 2 }]);

  expect(document).toEqual({ a: [1] });
});
