import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import type { Operation, ProviderCall, Verdict } from "./pod-state.ts";
import type { PodResize } from "../resize/resize.ts";

/** What can happen to a pod, as {@link step} takes it. `pod` is the API server's object where the store has it. */
export type PodEvent =
  /** The store holds the pod, new or changed. */
  | { readonly kind: "bound"; readonly pod: DeepReadonly<Pod>; readonly isNew: boolean; readonly neverStarted: boolean }
  /** A relist did not have the pod. */
  | { readonly kind: "missing" }
  /** The API server said that the pod is gone. */
  | { readonly kind: "vanished" }
  /** The provider holds the pod, and says this of it: in a report, an inventory, or when it was asked. */
  | { readonly kind: "held"; readonly status: ProviderPodStatus; readonly pod: DeepReadonly<Pod> | undefined; readonly asked: boolean }
  /** The provider reported that it no longer holds the pod. */
  | { readonly kind: "reportedGone" }
  /** A complete inventory lacks the pod. `isFirst` for the first one of this run. */
  | {
      readonly kind: "unlisted";
      readonly isFirst: boolean;
      readonly neverStarted: boolean;
      readonly pod?: DeepReadonly<Pod> | undefined;
    }
  /** The provider, asked about the pod, said that it holds none. */
  | { readonly kind: "notFound" }
  /** The pod waits for its turn to call the provider. */
  | { readonly kind: "queued"; readonly call: ProviderCall }
  /** The pod no longer waits for its turn, and no call was made. */
  | { readonly kind: "dequeued" }
  /** A provider call is made now. `deadlineMs` and `lookAtMs` are those of a delete. */
  | {
      readonly kind: "called";
      readonly call: ProviderCall;
      readonly pod: DeepReadonly<Pod> | undefined;
      readonly end: EndTimes | undefined;
    }
  /** The call came back. */
  | { readonly kind: "returned"; readonly pod: DeepReadonly<Pod> | undefined }
  /** The call failed; nothing was done. */
  | { readonly kind: "refused"; readonly pod: DeepReadonly<Pod> | undefined; readonly message: string }
  /** The call failed, and it is not known what was done. */
  | { readonly kind: "failed"; readonly message: string }
  /** The provider said of a pod it was to change that there is none; it is asked before that is believed. */
  | { readonly kind: "doubted" }
  /** The call ignored its abort signal, and its outcome is no longer waited for. */
  | { readonly kind: "givenUp" }
  /** A call that was given up came back after all. */
  | { readonly kind: "settled" }
  /** The core has something to say of the pod itself. */
  | { readonly kind: "judged"; readonly verdict: Verdict; readonly graceSeconds: number }
  /**
   * A resize of the running pod cannot be carried out now. `given` is the pod without the resize where the provider runs just that, and
   * `undefined` where it has to be told of other changes, or has refused the resize itself.
   */
  | {
      readonly kind: "resizePending";
      readonly resize: Extract<PodResize, { kind: "pending" }>;
      readonly given: DeepReadonly<Pod> | undefined;
    }
  /** The pod passed admission. */
  | { readonly kind: "admitted" }
  /** The last call failed for something that the pod refers to. */
  | { readonly kind: "waitsForConfig" }
  /** The operation failed, and the other side asked to be left alone with it for this long. */
  | { readonly kind: "throttled"; readonly operation: Operation; readonly ms: number }
  /** The other side has recovered: what it asked for before no longer counts. */
  | { readonly kind: "unthrottled" };

/** By when a delete is to have ended the pod, and when the provider is asked about it; monotonic milliseconds. */
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
