import { expect, test } from "vitest";
import { unifiedDiff } from "./unified-diff.ts";

const letters = (text: string): string => text.split("").join("\n");

test("equal texts have no differences", () => {
  expect(unifiedDiff("a\nb", "a\nb")).toBe("");
});

test("a changed line is shown with three lines around it", () => {
  expect(unifiedDiff(letters("abcdefghi"), letters("abcdXfghi"))).toBe("@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+X\n f\n g\n h\n");
});

test("close differences share a hunk, distant ones do not", () => {
  expect(unifiedDiff(letters("abcdefghijklmn"), letters("XbcdeYghijklmZ"))).toBe(
    "@@ -1,9 +1,9 @@\n-a\n+X\n b\n c\n d\n e\n-f\n+Y\n g\n h\n i\n@@ -11,4 +11,4 @@\n k\n l\n m\n-n\n+Z\n",
  );
});

test("added and removed lines are counted on their own side only", () => {
  expect(unifiedDiff(letters("abc"), letters("abcd"), 1)).toBe("@@ -3 +3,2 @@\n c\n+d\n");
  expect(unifiedDiff(letters("abcd"), letters("bcd"), 1)).toBe("@@ -1,2 +1 @@\n-a\n b\n");
});
