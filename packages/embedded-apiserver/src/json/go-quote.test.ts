import { expect, test } from "vitest";
import { goQuoted } from "./go-quote.ts";

test.each([
  ["a b", '"a b"'],
  ["äé日😀", '"äé日😀"'],
  ['a"b\\c', String.raw`"a\"b\\c"`],
  ["\n\t\r\b\f\v\u0007", String.raw`"\n\t\r\b\f\v\a"`],
  ["\u0000\u001f\u007f", String.raw`"\x00\x1f\x7f"`],
  ["\u00a0\u200b\ufeff", String.raw`"\u00a0\u200b\ufeff"`],
  ["\u{e0001}", String.raw`"\U000e0001"`],
])("%j is %s", (text, expected) => {
  expect(goQuoted(text)).toBe(expected);
});
