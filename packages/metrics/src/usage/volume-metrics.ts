import type { FsStats, MetricFamily, MetricSample, StatsSummary } from "@virtual-kubelet/core";

/** What a node's pods have mounted. */
export interface MeasuredVolumes {
  readonly nodeName: string;
  readonly pods: StatsSummary["pods"];
}

const figures = [
  { name: "kubelet_volume_stats_capacity_bytes", help: "Capacity in bytes of the volume", field: "capacityBytes" },
  { name: "kubelet_volume_stats_available_bytes", help: "Number of available bytes in the volume", field: "availableBytes" },
  { name: "kubelet_volume_stats_used_bytes", help: "Number of used bytes in the volume", field: "usedBytes" },
  { name: "kubelet_volume_stats_inodes", help: "Maximum number of inodes in the volume", field: "inodes" },
  { name: "kubelet_volume_stats_inodes_free", help: "Number of free inodes in the volume", field: "inodesFree" },
  { name: "kubelet_volume_stats_inodes_used", help: "Number of used inodes in the volume", field: "inodesUsed" },
] as const satisfies readonly { readonly name: string; readonly help: string; readonly field: keyof FsStats }[];

/**
 * The volumes behind claims, as a kubelet's `/metrics` shows them, besides with a label `node`: one process may be several. A claim
 * that several pods of a node use is shown once; what was not measured is left out.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/metrics/collectors/volume_stats.go.
 */
export function volumeMetrics(nodes: readonly MeasuredVolumes[]): readonly MetricFamily[] {
  const claims = nodes.flatMap(({ nodeName, pods }) => {
    const volumes = pods.flatMap(({ volume = [] }) => volume.flatMap((stats) => (stats.pvcRef ? [{ stats, claim: stats.pvcRef }] : [])));
    const byClaim = new Map(volumes.toReversed().map((each) => [`${each.claim.namespace}/${each.claim.name}`, each]));
    return [...byClaim.values()].map(({ stats, claim }) => ({
      stats,
      labels: { node: nodeName, namespace: claim.namespace, persistentvolumeclaim: claim.name },
    }));
  });
  return figures.flatMap(({ name, help, field }): readonly MetricFamily[] => {
    const samples = claims.flatMap(({ stats, labels }): readonly MetricSample[] => {
      const value = stats[field];
      return value === undefined ? [] : [{ labels, value }];
    });
    return samples.length === 0 ? [] : [{ name, help: `[ALPHA] ${help}`, type: "gauge", samples }];
  });
}
