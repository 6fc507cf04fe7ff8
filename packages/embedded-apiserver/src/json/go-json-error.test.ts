import { expect, test } from "vitest";
import { goJsonError } from "./go-json-error.ts";

test.each([
  ["", "unexpected end of JSON input"],
  ['{"a":1', "unexpected end of JSON input"],
  ["not json", "invalid character 'o' in literal null (expecting 'u')"],
  ["x", "invalid character 'x' looking for beginning of value"],
  ["{a:1}", "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
  ["[1 2]", "invalid character '2' after array element"],
  ["1 2", "invalid character '2' after top-level value"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\n"', String.raw`invalid character '\n' in string literal`],
  ["1.x", "invalid character 'x' after decimal point in numeric literal"],
])("%j is refused in Go's words", (text, message) => {
  expect(goJsonError(text)).toBe(message);
});

test.each(['{"a":[1,-2.5e+3,"\\u00e9",true,null,{}]}', " 1 "])("%j is JSON", (text) => {
  expect(goJsonError(text)).toBeUndefined();
});
