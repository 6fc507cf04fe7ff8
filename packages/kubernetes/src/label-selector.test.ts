import { expect, test } from "vitest";
import { selectsLabels, type LabelSelector } from "./label-selector.ts";

const labels = { app: "web", tier: "1" };
const expression = (key: string, operator: string, values?: string[]): LabelSelector => ({ matchExpressions: [{ key, operator, values }] });

test.each<[string, LabelSelector | undefined, boolean]>([
  ["no selector", undefined, false],
  ["an empty selector", {}, true],
  ["a label that is there", { matchLabels: { app: "web" } }, true],
  ["a label of another value", { matchLabels: { app: "db" } }, false],
  ["a label that every object inherits", { matchLabels: { constructor: "x" } }, false],
  ["In", expression("app", "In", ["db", "web"]), true],
  ["In, of another value", expression("app", "In", ["db"]), false],
  ["NotIn", expression("app", "NotIn", ["db"]), true],
  ["NotIn, without the label", expression("nope", "NotIn", ["db"]), true],
  ["Exists", expression("tier", "Exists"), true],
  ["DoesNotExist", expression("tier", "DoesNotExist"), false],
])("%s selects: %j %s", (_, selector, selected) => {
  expect(selectsLabels(selector, labels)).toBe(selected);
});

test("an operator that is none is an error", () => {
  expect(() => selectsLabels(expression("app", "Like", ["w"]), labels)).toThrow('"Like" is not a valid label selector operator');
});
