import { expect, test } from "vitest";
import { podWith } from "../test-support/pod-rig.ts";
import { ephemeralStorage } from "./ephemeral-storage.ts";

const time = "2026-01-01T00:00:00Z";
const later = "2026-01-01T00:01:00Z";

test("a pod's storage consists of its writable layers, its logs, and its volumes on the node's disk", () => {
  const pod = podWith({
    volumes: [
      { name: "cache", emptyDir: {} },
      { name: "memory", emptyDir: { medium: "Memory" } },
      { name: "config", configMap: { name: "c" } },
      { name: "host", hostPath: { path: "/srv" } },
    ],
  });
  const containers = [
    { name: "a", startTime: time, rootfs: { time, usedBytes: 1, inodesUsed: 1 }, logs: { time, usedBytes: 20, inodesUsed: 2 } },
    { name: "b", startTime: time },
  ];
  const volumes = ["cache", "memory", "config", "host"].map((name, index) => ({ name, time: later, usedBytes: 100 * 10 ** index }));
  const nodeFs = { time, capacityBytes: 9, availableBytes: 8, usedBytes: 7, inodes: 6, inodesFree: 5, inodesUsed: 4 };

  expect(ephemeralStorage(pod, { containers, volumes, nodeFs })).toEqual({
    time: later,
    capacityBytes: 9,
    availableBytes: 8,
    usedBytes: 1 + 20 + 100 + 10_000,
    inodes: 6,
    inodesFree: 5,
    inodesUsed: 3,
  });
});
