import type { ContainerStats, Pod, PodStats } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { evictionMessage } from "./eviction-message.ts";
import type { EvictionSignal, Observation, StarvedResource } from "./eviction-signals.ts";
import { evictionRules } from "./eviction-thresholds.ts";

const time = "2026-01-01T00:00:00Z";
const Ki = 1024;
const { thresholds } = evictionRules(
  { evictionHard: { "memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%" } },
  { isAllocatableEnforced: true },
);

function statsOf(...containers: readonly ContainerStats[]): PodStats {
  return {
    podRef: { name: "web", namespace: "default", uid: "u1" },
    startTime: time,
    memory: { time, workingSetBytes: 900 * Ki },
    containers,
  };
}

function message(
  resource: StarvedResource,
  spec: Pod["spec"],
  stats: PodStats | undefined,
  observed: Partial<Record<EvictionSignal, Observation>>,
): string {
  const observations = new Map(Object.entries(observed) as [EvictionSignal, Observation][]);
  const met = thresholds.filter(({ signal }) => observations.has(signal));
  return evictionMessage({ pod: { metadata: { name: "web" }, spec }, stats }, { resource, thresholds: met, observations });
}

test("memory: the threshold, the available amount, and each container above its request", () => {
  const spec = {
    initContainers: [{ name: "setup", restartPolicy: "Always" }],
    containers: [
      { name: "app" },
      { name: "small", resources: { requests: { memory: "2Mi" } } },
      { name: "large", resources: { requests: { memory: "1024Ki" } } },
    ],
  };
  const used = (name: string, kibibytes: number): ContainerStats => ({
    name,
    startTime: time,
    memory: { time, workingSetBytes: kibibytes * Ki },
  });
  const stats = statsOf(used("setup", 3), used("app", 254_000), used("small", 2048), used("large", 2048), used("debugger", 9));

  expect(message("memory", spec, stats, { "allocatableMemory.available": { available: 46_200 * Ki, capacity: 300 * Ki ** 2 } })).toBe(
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 46200Ki. " +
      "Container setup was using 3Ki, request is 0, has larger consumption of memory. " +
      "Container app was using 254000Ki, request is 0, has larger consumption of memory. " +
      "Container large was using 2Mi, request is 1Mi, has larger consumption of memory. ",
  );
});

test("a pod with a pod-level request is listed as a whole", () => {
  const spec = { resources: { requests: { memory: "500Ki" } }, containers: [{ name: "app" }] };

  expect(message("memory", spec, statsOf(), {})).toBe(
    "The node was low on resource: memory. Pod web was using 900Ki, request is 500Ki, has larger consumption of memory. ",
  );
});

test("disk: a container's writable layer and logs are added; inodes and unmeasured pods: only the node's amounts", () => {
  const spec = { containers: [{ name: "app" }, { name: "unknown" }] };
  const app = { name: "app", startTime: time, rootfs: { time, usedBytes: 3 * Ki }, logs: { time, usedBytes: Ki } };
  const stats = statsOf(app, { name: "unknown", startTime: time, rootfs: { time, usedBytes: 9 } });

  expect(message("ephemeral-storage", spec, stats, { "nodefs.available": { available: 90 * Ki, capacity: 1000 * Ki } })).toBe(
    "The node was low on resource: ephemeral-storage. Threshold quantity: 100Ki, available: 90Ki. " +
      "Container app was using 4Ki, request is 0, has larger consumption of ephemeral-storage. ",
  );
  expect(message("inodes", spec, stats, { "nodefs.inodesFree": { available: 49_000, capacity: 1_000_000 } })).toBe(
    "The node was low on resource: inodes. Threshold quantity: 50k, available: 49k. ",
  );
  expect(message("memory", spec, undefined, {})).toBe("The node was low on resource: memory. ");
});
