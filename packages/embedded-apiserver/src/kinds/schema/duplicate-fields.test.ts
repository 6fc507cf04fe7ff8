import fc from "fast-check";
import { expect, test } from "vitest";
import { duplicateFields, problemsInOrder } from "./duplicate-fields.ts";

test.each([
  ['{"a":1,"a":2}', ["a"]],
  ['{"a":{"b":1,"b":2},"a":3}', ["a.b", "a"]],
  ['{"a":[{"b":1},{"b":1,"c":[],"b":2}]}', ["a[1].b"]],
  ['[[1,{"x":1,"x":1}]]', ["[0][1].x"]],
  ['{"a":"a","b":"\\"a\\":","\\u0061":1}', ["a"]],
  ['{"a\\\\":"\\\\","a\\\\":1}', ["a\\"]],
  ['{ "a" : { } , "b" : [ ] , "a" : null }', ["a"]],
  ['"text"', []],
])("the fields that %s has twice are %j", (text, paths) => {
  expect(duplicateFields(text)).toEqual(paths);
});

test("the output of JSON.stringify has no duplicate fields", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(duplicateFields(JSON.stringify(value))).toEqual([]);
      expect(duplicateFields(JSON.stringify(value, undefined, 1))).toEqual([]);
    }),
  );
});

test("problems are in the order of the text, without those below unknown fields", () => {
  const text = '{"a":{"no":{"x":1,"x":2},"b":1,"b":2,"b":3},"nothing":1,"nothing":2,"a":{}}';

  expect(problemsInOrder(text, { duplicates: duplicateFields(text), unknown: ["nothing", "a.no"] })).toEqual([
    'unknown field "a.no"',
    'duplicate field "a.b"',
    'unknown field "nothing"',
    'duplicate field "a"',
  ]);
});
