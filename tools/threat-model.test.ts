import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./workspace.ts";

/** Every test that the threat model names: its title, or a part of it, and its file. */
const named = [...readFileSync(join(root, "SECURITY.md"), "utf8").matchAll(/\[([^\]]+)\]\(([^)]+\.test\.ts)\)/g)].map(
  ([, title = "", file = ""]) => ({ title, file }),
);

/** Whether a test of the file has that in its title: behind `test(`, `test.for(…)(` or alone on its line. */
function hasTest(file: string, title: string): boolean {
  const pattern = new RegExp(`(?:\\b(?:test|it)\\b.*\\(|\\)\\(|^\\s*)["\`].*${title.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&")}`, "m");
  return pattern.test(readFileSync(join(root, file), "utf8"));
}

test("the threat model names tests of every kind", () => {
  expect(named.map(({ file }) => file.split("/")[0])).toEqual(expect.arrayContaining(["packages", "e2e"]));
});

test.for(named)("of $file there is a test: $title", ({ title, file }) => {
  expect(hasTest(file, title)).toBe(true);
});

test("a test that there is not is noticed", () => {
  expect(hasTest("tools/threat-model.test.ts", ["a title", "that no test has"].join(" "))).toBe(false);
});
