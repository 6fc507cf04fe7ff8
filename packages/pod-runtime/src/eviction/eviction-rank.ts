import type { ContainerStats, DeepReadonly, FsStats, Pod, PodStats } from "@virtual-kubelet/core";
import { podRequests, toAmounts } from "@virtual-kubelet/kubernetes";
import { localVolumeNames } from "../provider/ephemeral-storage.ts";
import { signalFacts, type EvictionSignal } from "./eviction-signals.ts";

/** A pod that may be evicted, with its usage; `undefined` if it was not measured. */
export interface Candidate {
  readonly pod: DeepReadonly<Pod>;
  readonly stats: PodStats | undefined;
}

/** Parts of a pod's disk usage. */
type DiskPart = "rootfs" | "logs" | "volumes";

/** Negative: the first pod is evicted first. */
type Compare = (one: Candidate, other: Candidate) => number;

/**
 * Sorts pods in order of eviction for a signal: first pods that exceed their requests, then by priority, then by the excess. Pods that were
 * not measured come first.
 *
 * Source: rankMemoryPressure, rankPIDPressure and rankDiskPressureFunc in kubernetes v1.36.3 pkg/kubelet/eviction/helpers.go.
 *
 * @param options - `hasImageFs`: images and writable layers have a file system of their own
 */
export function rankForEviction(
  candidates: readonly Candidate[],
  signal: EvictionSignal,
  { hasImageFs }: { readonly hasImageFs: boolean },
): readonly Candidate[] {
  const compares = comparesFor(signal, hasImageFs);
  return candidates.toSorted((one, other) => {
    for (const compare of compares) {
      const order = compare(one, other);
      if (order !== 0) return order;
    }
    return 0;
  });
}

/** A pod's working set, in bytes. */
export function memoryOf(stats: PodStats): number {
  return stats.memory?.workingSetBytes ?? sum(stats.containers, ({ memory }) => memory?.workingSetBytes);
}

function comparesFor(signal: EvictionSignal, hasImageFs: boolean): readonly Compare[] {
  const { resource } = signalFacts[signal];
  if (resource === "pids") return [byPriority, measuredBy(({ stats }) => stats?.process_stats?.process_count ?? 0)];
  if (resource === "memory")
    return comparesOf(
      ({ stats }) => (stats ? memoryOf(stats) : 0),
      ({ pod }) => requestOf(pod, "memory"),
    );
  const parts = diskParts(signal, hasImageFs);
  const field = resource === "inodes" ? "inodesUsed" : "usedBytes";
  return comparesOf(
    ({ pod, stats }) => (stats ? diskUsage(pod, stats, { parts, field }) : 0),
    ({ pod }) => (resource === "inodes" ? 0 : requestOf(pod, "ephemeral-storage")),
  );
}

function comparesOf(usageOf: (candidate: Candidate) => number, requested: (candidate: Candidate) => number): readonly Compare[] {
  return [
    measuredBy((candidate) => Number(usageOf(candidate) > requested(candidate))),
    byPriority,
    measuredBy((candidate) => usageOf(candidate) - requested(candidate)),
  ];
}

/** Larger figures first; pods without a figure before all others. */
function measuredBy(figure: (candidate: Candidate) => number): Compare {
  return (one, other) => {
    if (!one.stats || !other.stats) return Number(one.stats !== undefined) - Number(other.stats !== undefined);
    return figure(other) - figure(one);
  };
}

const byPriority: Compare = (one, other) => (one.pod.spec?.priority ?? 0) - (other.pod.spec?.priority ?? 0);

/** Source: buildSignalToRankFunc in kubernetes v1.36.3 pkg/kubelet/eviction/helpers.go. */
function diskParts(signal: EvictionSignal, hasImageFs: boolean): readonly DiskPart[] {
  if (!hasImageFs) return ["rootfs", "logs", "volumes"];
  return signal.startsWith("imagefs") ? ["rootfs"] : ["logs", "volumes"];
}

function diskUsage(
  pod: DeepReadonly<Pod>,
  stats: PodStats,
  { parts, field }: { readonly parts: readonly DiskPart[]; readonly field: "usedBytes" | "inodesUsed" },
): number {
  const local = localVolumeNames(pod);
  const volumes = (stats.volume ?? []).filter(({ name }) => local.has(name));
  const used = (fs: FsStats | undefined): number => fs?.[field] ?? 0;
  return (
    sum(stats.containers, ({ rootfs, logs }) => (parts.includes("rootfs") ? used(rootfs) : 0) + (parts.includes("logs") ? used(logs) : 0)) +
    (parts.includes("volumes") ? sum(volumes, used) : 0)
  );
}

function requestOf(pod: DeepReadonly<Pod>, resource: string): number {
  return Number(toAmounts(podRequests(pod.spec)).get(resource) ?? 0n);
}

function sum<T extends ContainerStats | FsStats>(all: readonly T[], figure: (each: T) => number | undefined): number {
  return all.reduce((total, each) => total + (figure(each) ?? 0), 0);
}
