import type { PodRef } from "@virtual-kubelet/core";
import type { PodFiles } from "../container/container-files.ts";
import type { ContainerSpec } from "../container/container-spec.ts";
import type { PodModel } from "./pod-model.ts";

/** A pod of the mock. */
export interface MockPod {
  readonly ref: PodRef;
  readonly createdAt: string;
  /** Monotonic milliseconds. */
  readonly createdMs: number;
  /** Of this pod alone; a pod on the host's network has the node's. */
  readonly ownIP: string | undefined;
  readonly containerSpecs: ReadonlyMap<string, ContainerSpec>;
  readonly payloadVolumes: readonly string[];
  model: PodModel;
  deleted: boolean;
  timer: Disposable | undefined;
  /** Made when the first command runs in the pod. */
  files: PodFiles | undefined;
  /** Who waits for the pod's next change. */
  watchers: Set<() => void> | undefined;
}

/** Wakes those who wait for the pod. */
export function changed(pod: MockPod): void {
  if (!pod.watchers) return;
  for (const wake of [...pod.watchers]) wake();
}

/** Calls back on every change of the pod until it is disposed. */
export function watchPod(pod: MockPod, callback: () => void): Disposable {
  const watchers = (pod.watchers ??= new Set());
  watchers.add(callback);
  return {
    [Symbol.dispose]() {
      watchers.delete(callback);
      if (watchers.size === 0) pod.watchers = undefined;
    },
  };
}
