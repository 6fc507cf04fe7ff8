import { expect, test } from "vitest";
import { containerWith, planOf, podWith, taskOf } from "../test-support/pods.ts";

const both = { requests: { memory: "64Mi", cpu: "250m" }, limits: { memory: "256Mi", cpu: "1" } };

function resourcesOf(
  resources: object,
  reserve: object,
  memoryOversubscription: boolean,
  annotations: Record<string, string> = {},
): Readonly<Record<string, unknown>> {
  const pod = podWith({ containers: [containerWith({ resources })] }, annotations);
  const task = taskOf(planOf(pod, { reserve }, { memoryOversubscription }));
  return { ...task.Resources, hard: task.Config["cpu_hard_limit"] ?? false };
}

test.each<[string, object, boolean, object]>([
  ["auto, where more may be used than is reserved", {}, true, { MemoryMB: 64, MemoryMaxMB: 256 }],
  ["auto, where it may not", {}, false, { MemoryMB: 256 }],
  ["request", { memory: "request" }, false, { MemoryMB: 64, MemoryMaxMB: 256 }],
  ["limit", { memory: "limit" }, true, { MemoryMB: 256 }],
])("memory is reserved by %s: its limit is never lower than asked but with request", (_name, reserve, isOn, expected) => {
  expect(resourcesOf(both, reserve, isOn)).toEqual({ CPU: 500, hard: false, ...expected });
});

test("what is known of the configuration's node pool says nothing of another one that a pod has chosen", () => {
  expect(resourcesOf(both, {}, true, { "nomad.hashicorp.com/node-pool": "other" })).toMatchObject({ MemoryMB: 256 });
});

test.each([
  [{ requests: { memory: "64Mi" } }, 64],
  [{ limits: { memory: "256Mi" } }, 256],
])("with %j alone there is one figure", (resources, MemoryMB) => {
  for (const isOn of [true, false]) expect(resourcesOf(resources, {}, isOn)).toMatchObject({ MemoryMB });
});

test("a limit of the CPU that is reserved is never exceeded with docker", () => {
  expect(resourcesOf(both, { cpu: "limit", memory: "limit" }, false)).toEqual({ CPU: 2000, MemoryMB: 256, hard: true });
  expect(resourcesOf({ requests: { cpu: "250m" } }, { cpu: "limit" }, true)).toMatchObject({ CPU: 500, hard: false });
});
