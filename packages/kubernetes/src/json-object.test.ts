import { expect, test } from "vitest";
import { isJsonObject } from "./json-object.ts";

test.for<[value: unknown, expected: boolean]>([
  [{}, true],
  [{ a: null }, true],
  [Object.create(null), true],
  [null, false],
  [undefined, false],
  [[], false],
  ["a", false],
  [1, false],
  [true, false],
])("%o is a JSON object: %s", ([value, expected]) => {
  expect(isJsonObject(value)).toBe(expected);
});
