import type { PodRef } from "@virtual-kubelet/core";
import type { PodFiles } from "../container/container-files.ts";
import type { ContainerSpec } from "../container/container-spec.ts";
import type { PodModel } from "./pod-model.ts";

export interface MockPod {
  readonly ref: PodRef;
  readonly createdAt: string;
  /** Monotonic milliseconds. */
  readonly createdMs: number;
  /** Address of this pod; `undefined` for a pod on the host's network, which has the node's. */
  readonly ownIP: string | undefined;
  readonly containerSpecs: ReadonlyMap<string, ContainerSpec>;
  readonly payloadVolumes: readonly string[];
  model: PodModel;
  deleted: boolean;
  timer: Disposable | undefined;
  /** Created when the first command runs in the pod. */
  files: PodFiles | undefined;
  /** Callbacks for the pod's changes. */
  watchers: Set<() => void> | undefined;
}

/** Calls the pod's watchers. */
export function changed(pod: MockPod): void {
  if (!pod.watchers) return;
  for (const wake of [...pod.watchers]) wake();
}

/** Calls back on every change of the pod until disposed. */
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
