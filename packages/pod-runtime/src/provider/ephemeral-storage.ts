import type { ContainerStats, DeepReadonly, FsStats, Pod, VolumeStats } from "@virtual-kubelet/core";

/** Parts of a pod's ephemeral storage. */
export interface StoredByPod {
  readonly containers: readonly ContainerStats[];
  readonly volumes: readonly VolumeStats[];
  /** The node's file system that holds pods' data. */
  readonly nodeFs: FsStats;
}

/**
 * A pod's usage of the node's disk: writable layers, logs, and volumes of type emptyDir and configMap, together with the capacity of the
 * node's file system.
 *
 * Source: calcEphemeralStorage of kubernetes v1.36.3 pkg/kubelet/stats, and IsLocalEphemeralVolume of pkg/volume/util.
 */
export function ephemeralStorage(pod: DeepReadonly<Pod>, { containers, volumes, nodeFs }: StoredByPod): FsStats {
  const local = localVolumeNames(pod);
  const parts = [...containers.flatMap(({ rootfs, logs }) => [rootfs, logs]), ...volumes.filter(({ name }) => local.has(name))].filter(
    (part) => part !== undefined,
  );
  const { time, availableBytes, capacityBytes, inodesFree, inodes } = nodeFs;
  return {
    time: parts.reduce((latest, part) => (Date.parse(part.time) > Date.parse(latest) ? part.time : latest), time),
    availableBytes,
    capacityBytes,
    usedBytes: parts.reduce((sum, { usedBytes = 0 }) => sum + usedBytes, 0),
    inodesFree,
    inodes,
    inodesUsed: parts.reduce((sum, { inodesUsed = 0 }) => sum + inodesUsed, 0),
  };
}

/** Names of the pod's volumes whose files are on the node's disk. */
export function localVolumeNames({ spec }: DeepReadonly<Pod>): ReadonlySet<string> {
  const local = (spec?.volumes ?? []).filter(
    ({ configMap, emptyDir }) => configMap !== undefined || (emptyDir !== undefined && (emptyDir.medium ?? "") === ""),
  );
  return new Set(local.map(({ name }) => name));
}
