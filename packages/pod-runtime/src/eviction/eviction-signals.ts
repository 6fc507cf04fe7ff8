import type { FsStats, NodeStats } from "@virtual-kubelet/core";
import type { QuantityFormat } from "@virtual-kubelet/kubernetes";

/** What of a node can run out. Those of a kubelet, without `containerfs`, which a kubelet takes from one of the others. */
export const evictionSignals = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const;

/** What an administrator sets thresholds for. */
export type ConfiguredSignal = (typeof evictionSignals)[number];

/** `allocatableMemory.available` is what pods have left below the limit of their common cgroup. */
export type EvictionSignal = ConfiguredSignal | "allocatableMemory.available";

/** The resource in the message of an evicted pod. */
export type StarvedResource = "memory" | "ephemeral-storage" | "inodes" | "pids";

/** Condition of a node. */
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

/** How amounts of a resource are written. */
export function formatOf(resource: StarvedResource): QuantityFormat {
  return resource === "memory" || resource === "ephemeral-storage" ? "BinarySI" : "DecimalSI";
}

/** What is left of something, and what there is in all: bytes, inodes or processes. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

/** A signal that was not measured is absent. */
export type Observations = ReadonlyMap<EvictionSignal, Observation>;

/**
 * The state of each signal.
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
