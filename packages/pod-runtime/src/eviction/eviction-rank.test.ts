import type { ContainerStats, Pod, PodStats } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { rankForEviction, type Candidate } from "./eviction-rank.ts";
import type { EvictionSignal } from "./eviction-signals.ts";

const time = "2026-01-01T00:00:00Z";

interface Described {
  readonly priority?: number;
  readonly requests?: Readonly<Record<string, string>>;
  readonly memory?: number;
  readonly rootfs?: number;
  readonly logs?: number;
  readonly volume?: number;
  readonly inodes?: number;
  readonly processes?: number;
  readonly isMeasured?: boolean;
}

function candidate(name: string, described: Described): Candidate {
  const { priority, requests, memory = 0, rootfs = 0, logs = 0, volume = 0, inodes = 0, processes = 0, isMeasured = true } = described;
  const pod: Pod = {
    metadata: { name, namespace: "default", uid: name },
    spec: {
      ...(priority !== undefined && { priority }),
      containers: [{ name: "app", ...(requests && { resources: { requests } }) }],
      volumes: [
        { name: "data", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory" } },
      ],
    },
  };
  const app: ContainerStats = {
    name: "app",
    startTime: time,
    memory: { time, workingSetBytes: memory },
    rootfs: { time, usedBytes: rootfs, inodesUsed: inodes },
    logs: { time, usedBytes: logs },
  };
  const stats: PodStats = {
    podRef: { name, namespace: "default", uid: name },
    startTime: time,
    containers: [app],
    volume: [
      { name: "data", time, usedBytes: volume },
      { name: "memory", time, usedBytes: 10 ** 9 },
    ],
    process_stats: { process_count: processes },
  };
  return { pod, stats: isMeasured ? stats : undefined };
}

function ranked(signal: EvictionSignal, pods: Readonly<Record<string, Described>>, hasImageFs = false): string {
  const candidates = Object.entries(pods).map(([name, described]) => candidate(name, described));
  return rankForEviction(candidates, signal, { hasImageFs })
    .map(({ pod }) => pod.metadata?.name)
    .join(" ");
}

test.for<[what: string, signal: EvictionSignal, pods: Readonly<Record<string, Described>>, order: string, hasImageFs?: boolean]>([
  [
    "memory: pods above their requests come first, then the order is by priority, then by the excess",
    "memory.available",
    {
      within: { memory: 900, requests: { memory: "1000" } },
      important: { memory: 900, priority: 100 },
      greedy: { memory: 500 },
      modest: { memory: 100 },
      asked: { memory: 900, requests: { memory: "700" } },
    },
    "greedy asked modest important within",
  ],
  [
    "a pod that was not measured comes first",
    "allocatableMemory.available",
    { used: { memory: 9 }, unknown: { isMeasured: false } },
    "unknown used",
  ],
  [
    "processes: the order is by priority, then by the number of processes",
    "pid.available",
    { few: { processes: 2 }, many: { processes: 50 }, important: { processes: 900, priority: 1 } },
    "many few important",
  ],
  [
    "with one disk, layers, logs and volumes on it count, but not volumes in memory; pods within their requests come last",
    "nodefs.available",
    {
      layer: { rootfs: 300 },
      logs: { logs: 200 },
      volume: { volume: 100 },
      asked: { volume: 400, requests: { "ephemeral-storage": "1Ki" } },
    },
    "layer logs volume asked",
  ],
  [
    "if writable layers have a file system of their own, they do not count for the node's",
    "nodefs.available",
    { layer: { rootfs: 300 }, logs: { logs: 2 } },
    "logs layer",
    true,
  ],
  ["only layers count for the images' disk", "imagefs.available", { logs: { logs: 300 }, layer: { rootfs: 2 } }, "layer logs", true],
  ["inodes are ranked by their number", "nodefs.inodesFree", { few: { inodes: 1, rootfs: 500 }, many: { inodes: 2 } }, "many few"],
])("%s", ([, signal, pods, order, hasImageFs]) => {
  expect(ranked(signal, pods, hasImageFs)).toBe(order);
});
