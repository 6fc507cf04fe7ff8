import type { PodStats, VolumeStats } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { renderMetrics } from "../prometheus/exposition.ts";
import { volumeMetrics } from "./volume-metrics.ts";

const time = "2026-01-02T03:04:05Z";

function podWith(name: string, ...volume: VolumeStats[]): PodStats {
  return { podRef: { namespace: "shop", name, uid: name }, startTime: time, containers: [], volume };
}

const data: VolumeStats = {
  name: "data",
  pvcRef: { namespace: "shop", name: "data-db-0" },
  time,
  capacityBytes: 1000,
  availableBytes: 400,
  usedBytes: 600,
  inodes: 50,
  inodesFree: 40,
  inodesUsed: 10,
};

test("a claim is shown as by a kubelet, once for all pods that use it, and other volumes are not", () => {
  const pods = [podWith("db-0", data, { name: "scratch", time, usedBytes: 1 }), podWith("backup", data)];

  expect(renderMetrics(volumeMetrics([{ nodeName: "n1", pods }]))).toBe(
    [
      ["available_bytes", "Number of available bytes in the volume", 400],
      ["capacity_bytes", "Capacity in bytes of the volume", 1000],
      ["inodes", "Maximum number of inodes in the volume", 50],
      ["inodes_free", "Number of free inodes in the volume", 40],
      ["inodes_used", "Number of used inodes in the volume", 10],
      ["used_bytes", "Number of used bytes in the volume", 600],
    ]
      .map(
        ([name, help, value]) =>
          `# HELP kubelet_volume_stats_${name} [ALPHA] ${help}\n# TYPE kubelet_volume_stats_${name} gauge\n` +
          `kubelet_volume_stats_${name}{namespace="shop",node="n1",persistentvolumeclaim="data-db-0"} ${value}\n`,
      )
      .join(""),
  );
});

test("a claim that two nodes use is each one's, and what was not measured is left out", () => {
  const { name, pvcRef } = data;
  const pods = [podWith("db-0", { name, pvcRef, time, usedBytes: 7 })];
  const families = volumeMetrics([
    { nodeName: "n1", pods },
    { nodeName: "n2", pods },
  ]);

  expect(families.map((family) => [family.name, family.samples.map(({ labels }) => labels?.["node"])])).toEqual([
    ["kubelet_volume_stats_used_bytes", ["n1", "n2"]],
  ]);
  expect(volumeMetrics([{ nodeName: "n1", pods: [podWith("web")] }])).toEqual([]);
});
