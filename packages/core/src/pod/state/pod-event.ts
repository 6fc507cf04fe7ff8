import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import type { Operation, ProviderCall, Verdict } from "./pod-state.ts";
import type { PodResize } from "../resize/resize.ts";

/** Input of {@link step}: an event in the life of a pod. `pod` is the API server's object if the store has it. */
export type PodEvent =
  /** The store holds the pod, new or changed. */
  | { readonly kind: "bound"; readonly pod: DeepReadonly<Pod>; readonly isNew: boolean; readonly neverStarted: boolean }
  /** A relist did not contain the pod. */
  | { readonly kind: "missing" }
  /** The API server reported that the pod is gone. */
  | { readonly kind: "vanished" }
  /** The provider holds the pod with this status: from a report, an inventory, or an answer (`asked`). */
  | { readonly kind: "held"; readonly status: ProviderPodStatus; readonly pod: DeepReadonly<Pod> | undefined; readonly asked: boolean }
  /** The provider reported that it no longer holds the pod. */
  | { readonly kind: "reportedGone"; readonly pod?: DeepReadonly<Pod> | undefined }
  /** A complete inventory lacks the pod. `isFirst` for the first one of this run. */
  | {
      readonly kind: "unlisted";
      readonly isFirst: boolean;
      readonly neverStarted: boolean;
      readonly pod?: DeepReadonly<Pod> | undefined;
    }
  /** The provider answered that it does not hold the pod. */
  | { readonly kind: "notFound"; readonly pod?: DeepReadonly<Pod> | undefined }
  /** The pod waits for a permit to call the provider. */
  | { readonly kind: "queued"; readonly call: ProviderCall }
  /** The pod no longer waits for a permit, and no call was made. */
  | { readonly kind: "dequeued" }
  /** A provider call begins. `end` is set for a delete. */
  | {
      readonly kind: "called";
      readonly call: ProviderCall;
      readonly pod: DeepReadonly<Pod> | undefined;
      readonly end: EndTimes | undefined;
    }
  /** The call returned. */
  | { readonly kind: "returned"; readonly pod: DeepReadonly<Pod> | undefined }
  /** The call failed without any effect. */
  | { readonly kind: "refused"; readonly pod: DeepReadonly<Pod> | undefined; readonly message: string }
  /** The call failed with an unknown effect. */
  | { readonly kind: "failed"; readonly message: string }
  /** The provider reported "not found" for a pod that it had to change; a question to the provider confirms that. */
  | { readonly kind: "doubted" }
  /** The call ignored its abort signal, and nobody waits for its outcome. */
  | { readonly kind: "givenUp" }
  /** A call that was given up has returned. */
  | { readonly kind: "settled" }
  /** The core judged the pod itself. */
  | { readonly kind: "judged"; readonly verdict: Verdict; readonly graceSeconds: number }
  /**
   * A resize of the running pod cannot be applied now. `given` is the pod without the resize if the provider runs exactly that, and
   * `undefined` if the provider has to be told of other changes, or has refused the resize itself.
   */
  | {
      readonly kind: "resizePending";
      readonly resize: Extract<PodResize, { kind: "pending" }>;
      readonly given: DeepReadonly<Pod> | undefined;
    }
  /** The pod passed admission. */
  | { readonly kind: "admitted" }
  /** The last call failed because of an object that the pod refers to. */
  | { readonly kind: "waitsForConfig" }
  /** The operation failed with a Retry-After. */
  | { readonly kind: "throttled"; readonly operation: Operation; readonly ms: number }
  /** The provider or the API server has recovered, which ends the wait for a Retry-After. */
  | { readonly kind: "unthrottled" };

/** Deadline for the end of a pod that is deleted, and time at which the provider is asked about it; monotonic milliseconds. */
export interface EndTimes {
  readonly deadlineMs: number;
  readonly lookAtMs: number;
}

/** The time of an event. */
export interface EventTime {
  /** Monotonic, in milliseconds. */
  readonly nowMs: number;
  /** Since the epoch, in milliseconds. */
  readonly wallMs: number;
}
