import { expect, test } from "vitest";
import { goQuote } from "./go-quote.ts";

/** As `strconv.Quote` of Go 1.26 writes them. */
test.each([
  ["", '""'],
  ["plain text", '"plain text"'],
  ['"\\', '"\\"\\\\"'],
  ["\x07\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'],
  ["\x00\x1f\x7f", '"\\x00\\x1f\\x7f"'],
  ["\x80\x9f\xa0\xad", '"\\u0080\\u009f\\u00a0\\u00ad"'],
  ["é😀", '"é😀"'],
  ["\u200b\u2028\uffff", '"\\u200b\\u2028\\uffff"'],
  ["\u{e0001}\u{10ffff}", '"\\U000e0001\\U0010ffff"'],
  ["a\u0301", '"a\u0301"'],
])("%j is written as %s", (text, quoted) => {
  expect(goQuote(text)).toBe(quoted);
});

test("half a character is written as Go has the one that stands for it", () => {
  expect(goQuote("\ud800")).toBe('"\\ufffd"');
});
