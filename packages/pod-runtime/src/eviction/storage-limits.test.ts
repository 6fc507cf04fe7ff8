import type { Pod, PodStats } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { exceededStorageLimit, hasStorageLimit } from "./storage-limits.ts";

const time = "2026-01-01T00:00:00Z";

function podOf(...limits: readonly (string | undefined)[]): Pod {
  const containers = limits.map((limit, index) => ({
    name: `c${index}`,
    ...(limit !== undefined && { resources: { limits: { "ephemeral-storage": limit } } }),
  }));
  return { spec: { containers } };
}

function statsOf(whole: number, ...parts: readonly (readonly [rootfs: number, logs: number])[]): PodStats {
  const containers = parts.map(([rootfs, logs], index) => ({
    name: `c${index}`,
    startTime: time,
    rootfs: { time, usedBytes: rootfs },
    logs: { time, usedBytes: logs },
  }));
  return { podRef: { name: "p", namespace: "d", uid: "u" }, startTime: time, containers, "ephemeral-storage": { time, usedBytes: whole } };
}

test.for<[what: string, limits: (string | undefined)[], stats: PodStats, message: string | undefined, hasImageFs?: boolean]>([
  ["usage within the limits", ["1Ki", "1Ki"], statsOf(2048, [1000, 24]), undefined],
  [
    "the whole usage, including volumes, above the sum of the limits",
    ["1Ki", "1Ki"],
    statsOf(2049, [0, 0]),
    "Pod ephemeral local storage usage exceeds the total limit of containers 2Ki. ",
  ],
  [
    "writable layer and logs of a container above its own limit",
    ["4Ki", "1Ki"],
    statsOf(1025, [0, 0], [1000, 25]),
    'Container c1 exceeded its local ephemeral storage limit "1Ki". ',
  ],
  ["only logs, if layers have their own file system", ["1Ki", "9Ki"], statsOf(5000, [4000, 1024]), undefined, true],
  ["no limit", [undefined], statsOf(10 ** 9, [10 ** 9, 0]), undefined],
  [
    "the limit of a single container limits the whole pod",
    [undefined, "1k"],
    statsOf(1001),
    "Pod ephemeral local storage usage exceeds the total limit of containers 1k. ",
  ],
])("%s", ([, limits, stats, message, hasImageFs = false]) => {
  expect(exceededStorageLimit(podOf(...limits), stats, { hasImageFs })?.message).toBe(message);
  expect(hasStorageLimit(podOf(...limits))).toBe(limits.some((limit) => limit !== undefined));
});
