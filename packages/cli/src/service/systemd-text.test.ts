import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeEnvironmentFile, decodeWords, replaceVariables } from "../test-support/systemd-syntax.ts";
import { commandPath, commandWord, environmentFileLine, environmentWord, restOfLine } from "./systemd-text.ts";

/** Text without control characters, with the characters that systemd treats in its own way. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "%",
        "$",
        '"',
        "'",
        "\\",
        " ",
        ";",
        "#",
        "`",
        "{",
        "}",
        "~",
        "*",
        "|",
        "&",
        "\u00A0",
        "é",
        "日",
        "🚀",
        "=",
        "/",
        "h",
        "n",
      ),
      fc.string({ unit: "grapheme", maxLength: 4 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(""))
  // oxlint-disable-next-line no-control-regex -- they are refused
  .filter((each) => !/[\u0000-\u001F\u007F]/.test(each));

test("systemd runs a command with exactly the words that were given", () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 6 }), (words) => {
      const [path, ...rest] = decodeWords([commandPath("/opt/100% $node/bin"), ...words.map(commandWord)].join(" "));

      expect(path).toBe("/opt/100% $node/bin");
      expect(rest.map(replaceVariables)).toEqual(words);
    }),
  );
});

test("systemd sets exactly the variables that were given", () => {
  fc.assert(
    fc.property(text, (value) => {
      expect(decodeWords(environmentWord("NAME", value))).toEqual([`NAME=${value}`]);
      expect(decodeEnvironmentFile(environmentFileLine("NAME", value))).toEqual(`NAME=${value}`);
    }),
  );
});

test("usual words stay as people write them", () => {
  expect(commandWord("--kubeconfig=/etc/vk/kubeconfig")).toBe("--kubeconfig=/etc/vk/kubeconfig");
});

test.each([
  ["a space", "a b", '"a b"'],
  ["an empty word", "", '""'],
  ["a specifier", "%h", "%%h"],
  ["a variable", "$HOME", "$$HOME"],
  ["a command's end", ";", '";"'],
  ["quotes and backslashes", String.raw`"\'`, String.raw`"\"\\'"`],
])("%s is quoted", (_, word, expected) => {
  expect(commandWord(word)).toBe(expected);
});

test.each([
  ["line break", "a\nb"],
  ["carriage return", "a\r"],
  ["NUL", "\0"],
])("a %s is refused", (_, word) => {
  expect(() => commandWord(word)).toThrow("contains a line break or another control character");
  expect(() => restOfLine(word)).toThrow("contains a line break or another control character");
});

test("the error about a variable's value does not show it", () => {
  expect(() => environmentFileLine("TOKEN", "secret\n")).toThrow(/^TOKEN: contains a line break(?!.*secret)/);
});

test("a path that systemd would not run is refused", () => {
  expect(() => commandPath("/opt/o'node")).toThrow("systemd runs no program whose path has quotes or backslashes");
});

test("a rest of a line that systemd would change is refused", () => {
  expect(restOfLine("/srv/50 %")).toBe("/srv/50 %%");
  expect(() => restOfLine("/srv/x ")).toThrow("expected a text that ends with neither a space nor a backslash");
});
