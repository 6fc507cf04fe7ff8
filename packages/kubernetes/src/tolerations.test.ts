import { expect, test } from "vitest";
import { tolerates, toleratesTaint } from "./tolerations.ts";

const taint = { key: "down", value: "yes", effect: "NoExecute" };

test.each([
  [{ operator: "Exists" }, true],
  [{ key: "down", operator: "Exists" }, true],
  [{ key: "down", operator: "Exists", effect: "NoExecute" }, true],
  [{ key: "down", operator: "Exists", effect: "NoSchedule" }, false],
  [{ key: "up", operator: "Exists" }, false],
  [{ key: "down", value: "yes" }, true],
  [{ key: "down", operator: "Equal", value: "yes" }, true],
  [{ key: "down", operator: "", value: "yes" }, true],
  [{ key: "down", value: "no" }, false],
  [{ key: "down" }, false],
  [{ key: "", operator: "Exists", effect: "" }, true],
  [{ key: "down", operator: "Like", value: "yes" }, false],
])("%j tolerates a taint down=yes:NoExecute: %s", (toleration, expected) => {
  expect(tolerates(toleration, taint)).toBe(expected);
});

test("one toleration of several is enough, and none is not", () => {
  expect(toleratesTaint([{ key: "up", operator: "Exists" }, { operator: "Exists" }], taint)).toBe(true);
  expect(toleratesTaint([], taint)).toBe(false);
});

test("a taint without a value is tolerated by a toleration without one", () => {
  const tolerations = [{ key: "down" }];

  expect(toleratesTaint(tolerations, { key: "down", effect: "NoExecute" })).toBe(true);
  expect(toleratesTaint(tolerations, { key: "down", value: "", effect: "NoExecute" })).toBe(true);
});

test("a pod without tolerations tolerates no taint, not even one without a value", () => {
  expect(toleratesTaint([], { key: "down", effect: "NoExecute" })).toBe(false);
  expect(toleratesTaint(undefined, { key: "down", effect: "NoExecute" })).toBe(false);
});

/** As compareNumericValues of the same file does. */
test.each([
  ["Gt", "100", "101", true],
  ["Gt", "100", "100", false],
  ["Gt", "100", "99", false],
  ["Lt", "100", "99", true],
  ["Lt", "100", "100", false],
  ["Gt", "-5", "-4", true],
  ["Gt", "0", "1", true],
  ["Gt", "-0", "1", false],
  ["Gt", "+1", "2", false],
  ["Gt", "1", "02", false],
  ["Gt", "1.5", "2", false],
  ["Lt", "", "1", false],
  ["Lt", "5", undefined, false],
  ["Lt", "9223372036854775807", "1", true],
  ["Lt", "9223372036854775808", "1", false],
])("%s %j tolerates a taint of the value %j: %s", (operator, value, actual, expected) => {
  expect(tolerates({ key: "load", operator, value }, { key: "load", value: actual, effect: "NoSchedule" })).toBe(expected);
});
