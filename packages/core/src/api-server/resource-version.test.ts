import { expect, test } from "vitest";
import { isNewer } from "./resource-version.ts";

const at = (resourceVersion: string | undefined): { metadata: { resourceVersion?: string | undefined } } => ({
  metadata: { resourceVersion },
});

test.each([
  ["9", "10", false],
  ["10", "9", true],
  ["12", "11", true],
  ["11", "11", false],
  ["99999999999999999999", "99999999999999999998", true],
  ["abc", "1", false],
  ["2", undefined, false],
  [undefined, "2", false],
  ["2x", "1", false],
  ["x2", "1", false],
  ["2", "1x", false],
  ["2", "x1", false],
  ["100", "20", true],
  ["20", "100", false],
])("version %s is newer than %s: %s", (a, b, expected) => {
  expect(isNewer(at(a), at(b))).toBe(expected);
});
