import { expect, test } from "vitest";
import { isLabelValue, isQualifiedName } from "./qualified-name.ts";

test.for([
  ["a", true],
  ["MyName", true],
  ["my.name_1-2", true],
  ["9", true],
  ["a".repeat(63), true],
  ["example.com/gate", true],
  ["e-x.a1/b", true],
  [`${"a".repeat(249)}.com/gate`, true],
  ["", false],
  ["a b", false],
  ["-a", false],
  ["a-", false],
  ["$patch", false],
  ["a".repeat(64), false],
  [`${"a".repeat(250)}.com/gate`, false],
  ["/gate", false],
  ["example.com/", false],
  ["a..b/gate", false],
  ["a-./gate", false],
  ["Example.com/gate", false],
  ["a/b/c", false],
] as const)("that %j is a qualified name is %s", ([text, expected]) => {
  expect(isQualifiedName(text)).toBe(expected);
});

test.for([
  ["", true],
  ["a", true],
  ["A_b.c-9", true],
  ["a".repeat(63), true],
  ["a".repeat(64), false],
  ["a/b", false],
  ["a.", false],
] as const)("that %j is a label's value is %s", ([text, expected]) => {
  expect(isLabelValue(text)).toBe(expected);
});
