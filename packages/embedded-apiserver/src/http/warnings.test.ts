import { expect, test } from "vitest";
import { warningHeader } from "./warnings.ts";

const textsOf = (header: string | undefined): string[] => [...(header ?? "").matchAll(/299 - "([^"]*)"/g)].map(([, text = ""]) => text);

test("each warning is shown once, with escaped quotes", () => {
  expect(warningHeader(['unknown field "a"', "b\\c", 'unknown field "a"'])).toBe(String.raw`299 - "unknown field \"a\"", 299 - "b\\c"`);
});

test("texts that no header can contain, and empty ones, are left out", () => {
  expect(warningHeader(["a\nb", "", "c"])).toBe('299 - "c"');
  expect(warningHeader(["\u0007"])).toBeUndefined();
  expect(warningHeader([])).toBeUndefined();
});

test("4096 characters are shown in full, and more are cut to 256 of each", () => {
  const texts = Array.from({ length: 4 }, (_, index) => String(index).repeat(1024));

  expect(textsOf(warningHeader(texts))).toEqual(texts);
  expect(textsOf(warningHeader([...texts, "x"]))).toEqual([...texts.map((text) => text.slice(0, 256)), "x"]);
});

test("after the limit was exceeded, warnings are added until the cut ones reach it", () => {
  const texts = Array.from({ length: 40 }, (_, index) => `${String(index).padStart(2, "0")}${"é".repeat(498)}`);

  const shown = textsOf(warningHeader(texts));

  expect(shown).toEqual(texts.slice(0, 16).map((text) => text.slice(0, 256)));
});
