import { expect, test } from "vitest";
import { writeYaml } from "./yaml-writer.ts";

const words = "words that are long enough for a second line ".repeat(3);

test.each<[string, unknown, string]>([
  ["maps by natural order", { a10: 1, a2: 1, B: 1, "a/b": 1, "1": 1 }, '"1": 1\nB: 1\na/b: 1\na2: 1\na10: 1\n'],
  [
    "lists without indentation, and lists in lists with it",
    { a: [[1, [2]], { b: [], c: { d: [3] } }] },
    "a:\n- - 1\n  - - 2\n- b: []\n  c:\n    d:\n    - 3\n",
  ],
  ["no members as braces", {}, "{}\n"],
  [
    "numbers as Go does",
    { a: 0.5, b: 1.25e-7, c: 1234567.5, d: 9007199254740991 },
    "a: 0.5\nb: 1.25e-07\nc: 1.2345675e+06\nd: 9007199254740991\n",
  ],
  [
    "text in quotes that would be read as something else",
    ["on", "08", "0x1F", "1e3", "12:30", "2024-01-02", "2024-13-01", ".", "~", "oN", "1_000", ""],
    '- "on"\n- "08"\n- "0x1F"\n- "1e3"\n- "12:30"\n- "2024-01-02"\n- 2024-13-01\n- .\n- "~"\n- oN\n- "1_000"\n- ""\n',
  ],
  [
    "text in single quotes that has indicators",
    ["a: b", "- a", "it's: ", "a #b", " a", "a:b", "-a"],
    "- 'a: b'\n- '- a'\n- 'it''s: '\n- 'a #b'\n- ' a'\n- a:b\n- -a\n",
  ],
  [
    "text in double quotes that has special characters",
    ["a\tb", "\u0001", "a \n b", "😀", "é"],
    '- "a\\tb"\n- "\\x01"\n- "a \\n b"\n- "\\U0001F600"\n- é\n',
  ],
  ["lines literally", { a: "b\nc", d: "e\n", f: "g\n\n", h: "\n i" }, "a: |-\n  b\n  c\nd: |\n  e\nf: |+\n  g\n\nh: |2-\n\n   i\n"],
  [
    "long text on several lines",
    { a: words.trim(), b: `# ${words.trim()}` },
    [
      "a: words that are long enough for a second line words that are long enough for a second",
      "  line words that are long enough for a second line",
      "b: '# words that are long enough for a second line words that are long enough for",
      "  a second line words that are long enough for a second line'",
      "",
    ].join("\n"),
  ],
  ["long keys with a question mark", { ["k".repeat(129)]: { a: 1 } }, `? ${"k".repeat(129)}\n: a: 1\n`],
])("writes %s", (_name, value, text) => {
  expect(writeYaml(value)).toBe(text);
});
