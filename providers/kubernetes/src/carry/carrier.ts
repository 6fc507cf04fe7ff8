import type { PodRef, ResolvedPod } from "@virtual-kubelet/core";
import type { DeepReadonly, OwnerReference, Pod } from "@virtual-kubelet/kube-client";
import type { FarNode } from "../far/far-node.ts";
import type { Carried } from "./carried.ts";

/** What {@link Carrier.provide} carries, and where to. */
export interface CarryRequest {
  readonly ref: PodRef;
  readonly farNamespace: string;
  readonly carried: Carried;
  /** Owner of what is created. */
  readonly ownerReference: OwnerReference;
  readonly resolved: ResolvedPod;
}

/**
 * Copies what pods refer to into the far cluster, keeps the copies current, and removes them when no pod needs them. Calls for one pod never
 * overlap.
 */
export class Carrier implements AsyncDisposable {
  /** @param _node - whose pods' objects it carries */
  constructor(_node: FarNode) {}

  /**
   * Makes everything that the pod refers to exist in the far cluster. Called before the pod is created, and again when it refers to more.
   *
   * @throws UnsupportedError for an object that the configuration excludes; what `resolved` throws for one that is missing
   */
  async provide(_request: CarryRequest, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
  }

  /** Keeps the copies of a far pod that was found, such as after a restart of the program. Returns at once; may be called again. */
  adopt(_ref: PodRef, _farPod: DeepReadonly<Pod>): void {}

  /** Lets the copies of a pod go, because its far pod is gone. Returns at once; may be called again, and for an unknown pod. */
  release(_ref: PodRef): void {}

  async [Symbol.asyncDispose](): Promise<void> {}
}
