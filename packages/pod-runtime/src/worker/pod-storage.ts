import type { DeepReadonly, Pod, PodRef, VolumeStats } from "@virtual-kubelet/core";

/** What a pod has on the node's disk. Everything is idempotent, and survives the program. */
export interface PodStorage {
  /**
   * Makes the pod's volumes ready, and keeps them up to date until {@link release} or the end of the program. Called before
   * a sandbox is made, and again for each pod that is taken over from an earlier program.
   *
   * @throws what leaves the pod waiting as ContainerCreating, with an event FailedMount; it is tried again
   */
  prepare(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void>;
  /** Removes all the pod has, also of a pod that an earlier program made and whose spec is not known any more. */
  release(pod: PodRef, signal: AbortSignal): Promise<void>;
  /**
   * What a container that has ended wrote to its `terminationMessagePath`, the last 4096 bytes at most; empty if nothing.
   *
   * @param attempt - the start of the container, from 0
   */
  terminationMessage(pod: PodRef, container: string, attempt: number, signal: AbortSignal): Promise<string>;
  /** What each of the pod's volumes uses; those that cannot be measured are left out. */
  stats(pod: PodRef, signal: AbortSignal): Promise<readonly VolumeStats[]>;
}
