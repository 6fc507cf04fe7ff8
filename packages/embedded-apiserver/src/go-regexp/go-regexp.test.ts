import { expect, test } from "vitest";
import { compileGoRegExp, goRegExpProblem } from "./go-regexp.ts";

const matches = (pattern: string, text: string): boolean => compileGoRegExp(pattern).test(text);

test.each([
  ["(?i)abc", "ABC", true],
  ["a(?i:b)c", "aBc", true],
  ["(?i:a)bc", "aBc", false],
  ["(?i-i:a)", "A", false],
  ["(?i)s", "ſ", true],
  ["(?i)[^a]", "A", false],
  ["(?U)^a+$", "aa", true],
  [String.raw`a\sb`, "a\u00a0b", false],
  [String.raw`a\sb`, "a\vb", false],
  ["a.b", "a\u2028b", true],
  ["a.b", "a\nb", false],
  ["(?s)a.b", "a\nb", true],
  ["a$", "a\n", false],
  ["(?m)^b$", "a\nb\nc", true],
  [String.raw`^[\p{Greek}a-z]+$`, "aα", true],
  [String.raw`\P{^Greek}`, "α", true],
  ["[]a]", "]", true],
  [String.raw`[\w-.]`, "-", true],
  ["[^[:^alpha:]]", "5", false],
  ["^a{,2}$", "a{,2}", true],
  ["^{a}]$", "{a}]", true],
  ["^(a{2}){2}$", "aaaa", true],
  ["^(a{2}){2}$", "aaa", false],
  ["^(?:ab?){2,3}$", "abaaa", false],
  ["^(?:ab?){2,}$", "aabab", true],
  [String.raw`\x{1F600}\141\_\ `, "😀a_ ", true],
  [String.raw`^\Qa.b*\E$`, "a.b*", true],
  ["^.$", "😀", true],
  [String.raw`e\b`, "eé", true],
  ["(?P<n>a)|(?<m>b)", "b", true],
])("%s on %j: %j", (pattern, text, expected) => {
  expect(matches(pattern, text)).toBe(expected);
});

test.each([
  ["a**", "invalid nested repetition operator: `**`"],
  ["a|*", "missing argument to repetition operator: `*`"],
  ["a{1001}", "invalid repeat count: `{1001}`"],
  ["(a{40}){40}", "invalid repeat count: `{40}`"],
  ["a{2,1}", "invalid repeat count: `{2,1}`"],
  ["(a", "missing closing ): `(a`"],
  ["a)", "unexpected ): `a)`"],
  ["x[a", "missing closing ]: `[a`"],
  ["[z-a]", "invalid character class range: `z-a`"],
  ["[[:foo:]]", "invalid character class range: `[:foo:]`"],
  [String.raw`\p{Foo}`, "invalid character class range: `\\p{Foo}`"],
  [String.raw`(a)\1`, "invalid escape sequence: `\\1`"],
  [String.raw`\u0061`, "invalid escape sequence: `\\u`"],
  ["a\\", "trailing backslash at end of expression: ``"],
  ["(?=a)", "invalid or unsupported Perl syntax: `(?=`"],
  ["(?P<a-b>c)", "invalid named capture: `(?P<a-b>`"],
  [`${"(".repeat(1001)}a${")".repeat(1001)}`, `expression nests too deeply: \`${"(".repeat(1001)}a${")".repeat(1001)}\``],
])("%s is refused in Go's words", (pattern, problem) => {
  expect(goRegExpProblem(pattern)).toBe(`error parsing regexp: ${problem}`);
});

test("the first choice wins, and lazy repetitions take as little as they can", () => {
  expect(compileGoRegExp("b|bc").find("abc")).toBe("b");
  expect(compileGoRegExp("a+?").find("xaaa")).toBe("a");
  expect(compileGoRegExp("a*").find("baa")).toBe("");
  expect(compileGoRegExp("(?:|a)+").find("aaa")).toBe("");
  expect(compileGoRegExp("c").find("ab")).toBeUndefined();
});

test("all matches are found; empty ones directly after another are none", () => {
  expect(compileGoRegExp("[0-9]*").findAll("a1b22")).toEqual(["", "1", "22"]);
  expect(compileGoRegExp("").findAll("a😀b")).toEqual(["", "", "", ""]);
  expect(compileGoRegExp("[0-9]+").findAll("1 22 333", 2)).toEqual(["1", "22"]);
});

test("an expression that takes exponential time in JavaScript is done at once", () => {
  const startedMs = process.cpuUsage().user / 1000;
  expect(matches("^(a+)+$", `${"a".repeat(5000)}!`)).toBe(false);
  expect(matches("^(?:a|aa)*(?:b|a*)*c$", "a".repeat(2000))).toBe(false);
  expect(process.cpuUsage().user / 1000 - startedMs).toBeLessThan(5000);
});
