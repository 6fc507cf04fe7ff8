import { expect, test } from "vitest";
import { cutText, plainText, wrapText } from "./plain-text.ts";

test("text of others cannot control a terminal", () => {
  expect(plainText("\u001b[2J\u001b]0;title\u0007failed\r\nagain\u009b31m\u202Egnp.exe\t!")).toBe("failed again gnp.exe !");
});

test.each([
  ["short", 5, "short"],
  ["longer", 5, "long…"],
  ["👩‍👩‍👧 family", 3, "👩‍👩‍👧 …"],
  ["x", 0, ""],
])("%j in %i characters is %j", (text, width, expected) => {
  expect(cutText(text, width)).toBe(expected);
});

test.each([
  ["one two three", 7, ["one two", "three"]],
  ["one two three", 8, ["one two", "three"]],
  ["abcdefgh", 3, ["abc", "def", "gh"]],
  ["", 3, [""]],
])("%j breaks at %i characters into %j", (text, width, lines) => {
  expect(wrapText(text, width)).toEqual(lines);
});
