import type { FsStats, NodeStats } from "@virtual-kubelet/core";
import type { QuantityFormat } from "@virtual-kubelet/kubernetes";

/** A kubelet's eviction signals, except `containerfs`, which a kubelet derives from the others. */
export const evictionSignals = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const;

/** A signal with configurable thresholds. */
export type ConfiguredSignal = (typeof evictionSignals)[number];

/** `allocatableMemory.available` is the memory left below the limit of the pods' common cgroup. */
export type EvictionSignal = ConfiguredSignal | "allocatableMemory.available";

/** The resource in the message of an evicted pod. */
export type StarvedResource = "memory" | "ephemeral-storage" | "inodes" | "pids";

/** Node condition that reports a shortage. */
export type PressureCondition = "MemoryPressure" | "DiskPressure" | "PIDPressure";

interface SignalFacts {
  readonly resource: StarvedResource;
  readonly condition: PressureCondition;
}

const disk: SignalFacts = { resource: "ephemeral-storage", condition: "DiskPressure" };
const inodes: SignalFacts = { resource: "inodes", condition: "DiskPressure" };
const memory: SignalFacts = { resource: "memory", condition: "MemoryPressure" };

/** Source: signalToResource and signalToNodeCondition in kubernetes v1.36.3 pkg/kubelet/eviction/helpers.go. */
export const signalFacts: Readonly<Record<EvictionSignal, SignalFacts>> = {
  "memory.available": memory,
  "allocatableMemory.available": memory,
  "nodefs.available": disk,
  "nodefs.inodesFree": inodes,
  "imagefs.available": disk,
  "imagefs.inodesFree": inodes,
  "pid.available": { resource: "pids", condition: "PIDPressure" },
};

/** Format of a resource's amounts. */
export function formatOf(resource: StarvedResource): QuantityFormat {
  return resource === "memory" || resource === "ephemeral-storage" ? "BinarySI" : "DecimalSI";
}

/** Available amount and capacity: bytes, inodes or processes. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

/** Signals that were not measured are absent. */
export type Observations = ReadonlyMap<EvictionSignal, Observation>;

/**
 * Amounts of each signal.
 *
 * Source: makeSignalObservations in kubernetes v1.36.3 pkg/kubelet/eviction/helpers.go.
 */
export function observationsOf({ memory: node, fs, runtime, rlimit, systemContainers }: NodeStats): Observations {
  const found = new Map<EvictionSignal, Observation>();
  const note = (signal: EvictionSignal, available: number | undefined, capacity: number | undefined): void => {
    if (available !== undefined && capacity !== undefined) found.set(signal, { available, capacity });
  };
  const noteMemory = (signal: EvictionSignal, stats: typeof node): void => {
    const { availableBytes, workingSetBytes } = stats ?? {};
    if (availableBytes !== undefined && workingSetBytes !== undefined) note(signal, availableBytes, availableBytes + workingSetBytes);
  };
  const noteDisk = (name: "nodefs" | "imagefs", stats: FsStats | undefined): void => {
    note(`${name}.available`, stats?.availableBytes, stats?.capacityBytes);
    note(`${name}.inodesFree`, stats?.inodesFree, stats?.inodes);
  };
  noteMemory("memory.available", node);
  noteMemory("allocatableMemory.available", systemContainers?.find(({ name }) => name === "pods")?.memory);
  noteDisk("nodefs", fs);
  noteDisk("imagefs", runtime?.imageFs);
  const { maxpid, curproc } = rlimit ?? {};
  note("pid.available", maxpid === undefined || curproc === undefined ? undefined : maxpid - curproc, maxpid);
  return found;
}
