import type { DeepReadonly, Pod, PodRef, VolumeStats } from "@virtual-kubelet/core";

/** A pod's data on the node's disk. Every call is idempotent, and the data survives the program. */
export interface PodStorage {
  /**
   * Prepares the pod's volumes, and keeps them up to date until {@link release} or the end of the program. Called before a sandbox is
   * created, and for each pod that is adopted from an earlier program.
   *
   * @throws an error that leaves the pod waiting as ContainerCreating, with an event FailedMount; it is retried
   */
  prepare(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void>;
  /** Removes all data of the pod, also if an earlier program created it and its spec is not known any more. */
  release(pod: PodRef, signal: AbortSignal): Promise<void>;
  /**
   * Last 4,096 bytes of what a container wrote to its `terminationMessagePath`; empty if nothing.
   *
   * @param attempt - number of the container's start, from 0
   */
  terminationMessage(pod: PodRef, container: string, attempt: number, signal: AbortSignal): Promise<string>;
  /** Usage of each volume of the pod. Volumes that cannot be measured are left out. */
  stats(pod: PodRef, signal: AbortSignal): Promise<readonly VolumeStats[]>;
}
