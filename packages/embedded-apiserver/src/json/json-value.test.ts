import { expect, test } from "vitest";
import { cloneJson } from "./json-value.ts";

test("a copy has every key, also those that mean something else in JavaScript", () => {
  const text = '{"__proto__":"p","constructor":{"__proto__":{"a":[1]}},"toString":null}';

  expect(JSON.stringify(cloneJson(JSON.parse(text)))).toBe(text);
});
