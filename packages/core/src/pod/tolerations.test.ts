import { expect, test } from "vitest";
import { toleratesTaint } from "./tolerations.ts";

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
  expect(toleratesTaint({ spec: { containers: [], tolerations: [toleration] } }, taint)).toBe(expected);
});

test("one toleration of several is enough, and none is not", () => {
  const spec = { containers: [], tolerations: [{ key: "up", operator: "Exists" }, { operator: "Exists" }] };

  expect(toleratesTaint({ spec }, taint)).toBe(true);
  expect(toleratesTaint({ spec: { containers: [] } }, taint)).toBe(false);
});

test("a taint without a value is tolerated by a toleration without one", () => {
  const pod = { spec: { containers: [], tolerations: [{ key: "down" }] } };

  expect(toleratesTaint(pod, { key: "down", effect: "NoExecute" })).toBe(true);
  expect(toleratesTaint(pod, { key: "down", value: "", effect: "NoExecute" })).toBe(true);
});

test("a pod without tolerations tolerates no taint, not even one without a value", () => {
  expect(toleratesTaint({ spec: { containers: [] } }, { key: "down", effect: "NoExecute" })).toBe(false);
  expect(toleratesTaint({}, { key: "down", effect: "NoExecute" })).toBe(false);
});
