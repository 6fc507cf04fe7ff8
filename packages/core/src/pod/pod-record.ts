import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { isTerminalPhase } from "./pod-phase.ts";
import type { PodRef } from "../provider/pod-ref.ts";
import type { ProviderPodStatus } from "../provider/provider.ts";

/** Where a pod stands at the back end, as far as is known. All times are on the monotonic clock, in milliseconds. */
export type Backend =
  /** Nothing is known, or the outcome of a call is unclear. `applied`, if known, is what may run. Left by asking the provider. */
  | { readonly kind: "unknown"; readonly applied?: DeepReadonly<Pod> | undefined }
  /** The provider holds no such pod. Left by creating it. */
  | { readonly kind: "absent" }
  /** The provider runs the pod. `applied` is the pod it was last given. Left by deleting it, or when it is lost. */
  | { readonly kind: "present"; readonly applied: DeepReadonly<Pod>; readonly sinceMs: number }
  /** The provider was told to end the pod by `deadlineMs`. Left when every container has ended, or the pod is gone. */
  | { readonly kind: "ending"; readonly deadlineMs: number; readonly lookAtMs: number }
  /** The provider has ended the pod. Final. */
  | { readonly kind: "gone" };

/** What the core itself has to say of a pod, in place of the provider. */
export type Verdict =
  /** The pod waits, Pending, every container with this reason. */
  | { readonly kind: "waiting"; readonly reason: string; readonly message: string }
  /** The pod was refused and is Failed. */
  | { readonly kind: "rejected"; readonly reason: string; readonly message: string }
  /** The back end has lost the pod for good; it is Failed. */
  | { readonly kind: "lost"; readonly reason: string; readonly message: string };

/** By when a deleted pod has to have ended. */
export interface DeletionDeadline {
  /** The grace the deletion gave, in seconds. */
  readonly graceSeconds: number;
  readonly deadlineMs: number;
}

/** A provider call under way. */
export interface ProviderCall {
  readonly kind: "start" | "update" | "delete";
  readonly abort: AbortController;
  readonly startedMs: number;
}

/** All the pod controller knows of one pod besides the API server's object. */
export interface PodRecord {
  readonly ref: PodRef;
  /** When the node first saw the pod, on the monotonic clock. */
  readonly firstSeenMs: number;
  backend: Backend;
  /** The provider's last report; the core's own copy. */
  reported: ProviderPodStatus | undefined;
  /** The pod as a creation was first given it whose outcome is unclear: the back end may run this, and nothing newer. */
  unconfirmed: DeepReadonly<Pod> | undefined;
  verdict: Verdict | undefined;
  deletion: DeletionDeadline | undefined;
  /** Whether the pod passed admission; it is not asked twice. */
  admitted: boolean;
  /** Whether the provider has ever been seen to hold the pod. */
  seen: boolean;
  /** When the back end's state was last learned or changed; an inventory begun earlier says nothing against it. */
  touchedMs: number;
  /** Whether the last call failed for something the pod refers to, such as a secret that is missing. */
  waitsForConfig: boolean;
  /** The provider call that is under way, if there is one. */
  call: ProviderCall | undefined;
}

/** A record of a pod nothing is known of yet. */
export function newPodRecord(ref: PodRef, nowMs: number): PodRecord {
  return {
    ref,
    firstSeenMs: nowMs,
    backend: { kind: "unknown" },
    reported: undefined,
    unconfirmed: undefined,
    verdict: undefined,
    deletion: undefined,
    admitted: false,
    seen: false,
    touchedMs: nowMs,
    waitsForConfig: false,
    call: undefined,
  };
}

/** The pod as the provider was last given it; absent if the back end holds none of it, or that is not known. */
export function lastGiven(backend: Backend): DeepReadonly<Pod> | undefined {
  return backend.kind === "present" || backend.kind === "unknown" ? backend.applied : undefined;
}

/** The pod where something else may have reached the back end since it was given: the provider will be told once more. */
export function unclear(applied: DeepReadonly<Pod>): DeepReadonly<Pod> {
  return { ...applied, spec: undefined };
}

/** Whether a report says that nothing of the pod runs any more. */
export function hasEnded(status: ProviderPodStatus): boolean {
  if (isTerminalPhase(status.phase)) return true;
  const containers = status.containerStatuses ?? [];
  return containers.length > 0 && containers.every((container) => container.state?.terminated !== undefined);
}

/** Whether the API server's pod shows that its containers were started at some time. */
export function wasStarted(pod: DeepReadonly<Pod>): boolean {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  return statuses.some((status) => status.state?.running ?? status.state?.terminated ?? status.lastState?.terminated);
}
