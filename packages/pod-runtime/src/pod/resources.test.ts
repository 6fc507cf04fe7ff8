import { describe, expect, test } from "vitest";
import { changedResources, needsRestart, withPodLimits, type Resources } from "./resources.ts";

describe("withPodLimits", () => {
  const ofPod = { cpu: "2", memory: "1Gi", "example.com/gpu": "1" };

  test.for<[Resources | undefined, Resources["limits"], Resources]>([
    [undefined, undefined, {}],
    [undefined, ofPod, { limits: { cpu: "2", memory: "1Gi" } }],
    [{ limits: { cpu: "1" } }, ofPod, { limits: { cpu: "1", memory: "1Gi" } }],
    [{ limits: { cpu: "0", memory: "1Mi" } }, ofPod, { limits: { cpu: "2", memory: "1Mi" } }],
    [{ requests: { cpu: "1" } }, { cpu: "0" }, { requests: { cpu: "1" } }],
    [{ requests: { cpu: "1" } }, { memory: "1Gi" }, { requests: { cpu: "1" }, limits: { memory: "1Gi" } }],
    [{ limits: { cpu: "1", memory: "1Mi" } }, ofPod, { limits: { cpu: "1", memory: "1Mi" } }],
    [{ limits: { cpu: "nonsense" } }, ofPod, { limits: { cpu: "nonsense", memory: "1Gi" } }],
  ])("%j in a pod with %j is %j", ([own, limits, expected]) => {
    expect(withPodLimits(own, limits)).toEqual(expected);
  });
});

describe("changedResources", () => {
  test.for<[Resources | undefined, Resources | undefined, readonly string[]]>([
    [undefined, undefined, []],
    [{ limits: { cpu: "1" } }, { limits: { cpu: "1000m" } }, []],
    [{ limits: { cpu: "1" } }, { limits: { cpu: "2" } }, ["cpu"]],
    [{ limits: { cpu: "1" } }, undefined, ["cpu"]],
    [undefined, { requests: { memory: "1Gi" } }, ["memory"]],
    [{ requests: { cpu: "1" } }, { limits: { cpu: "1" } }, ["cpu"]],
    [{ requests: { cpu: "1", memory: "1Gi" } }, { requests: { cpu: "1", memory: "2Gi" } }, ["memory"]],
    [{ limits: { cpu: "x" } }, { limits: { cpu: "x" } }, []],
    [{ limits: { cpu: "x" } }, { limits: { cpu: "y" } }, ["cpu"]],
    [{ limits: { cpu: "0" } }, {}, ["cpu"]],
  ])("from %j to %j: %j", ([before, after, names]) => {
    expect(changedResources(before, after)).toEqual(names);
  });
});

test("a container is restarted for the resources for which its resize policy requires it, and for no others", () => {
  const resizePolicy = [
    { resourceName: "cpu", restartPolicy: "NotRequired" },
    { resourceName: "memory", restartPolicy: "RestartContainer" },
  ];
  const container = { name: "app", resizePolicy };

  expect(needsRestart(container, ["cpu"])).toBe(false);
  expect(needsRestart(container, ["memory"])).toBe(true);
  expect(needsRestart(container, ["cpu", "memory"])).toBe(true);
  expect(needsRestart(container, [])).toBe(false);
  expect(needsRestart({ name: "app" }, ["memory"])).toBe(false);
});
