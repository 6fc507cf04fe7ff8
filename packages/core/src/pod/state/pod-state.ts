import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { isSidecar, shouldRestart } from "@virtual-kubelet/kubernetes";
import type { PodRef } from "../../provider/pod-ref.ts";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { isTerminalPhase } from "../status/pod-phase.ts";
import type { PodResize } from "../resize/resize.ts";

/** Whether the API server has the pod. */
export type ApiPresence =
  /** The store holds it, bound to this node. */
  | "bound"
  /** A relist did not have it. Nothing is ended until the API server, asked for this one pod, says that it is gone. */
  | "missing"
  /** The API server said that it is deleted. Final: a pod created again has another UID. */
  | "gone";

/** Where a pod stands at the back end, as far as is known. All times are on the monotonic clock, in milliseconds. */
export type Backend =
  /** Nothing is known, or the outcome of a call is unclear. `applied`, if known, is what may run. Left by asking the provider. */
  | { readonly kind: "unknown"; readonly applied?: DeepReadonly<Pod> | undefined }
  /** The provider holds no such pod. Left by creating it. */
  | { readonly kind: "absent" }
  /** The provider holds the pod. `applied` is the pod it was last given. Left by ending it, or when it is lost. */
  | { readonly kind: "present"; readonly applied: DeepReadonly<Pod>; readonly sinceMs: number }
  /**
   * The provider was told to end the pod by `deadlineMs`, and is asked about it at `lookAtMs`. `accepted` once that call has
   * returned: from then on a container that has ended stays so.
   */
  | { readonly kind: "ending"; readonly deadlineMs: number; readonly lookAtMs: number; readonly accepted: boolean }
  /** The provider has ended the pod. */
  | { readonly kind: "gone" };

/** What the core itself has to say of a pod, in place of the provider. */
export type Verdict =
  /** The pod waits, Pending, every container with this reason. */
  | { readonly kind: "waiting"; readonly reason: string; readonly message: string }
  /** The pod was refused and is Failed. */
  | { readonly kind: "rejected"; readonly reason: string; readonly message: string }
  /** The back end has lost the pod for good; it is Failed. */
  | { readonly kind: "lost"; readonly reason: string; readonly message: string }
  /** The pod ran longer than it may: it is ended, and Failed once its containers have ended. */
  | { readonly kind: "expired"; readonly reason: string; readonly message: string };

/** By when a pod has to have ended at the back end. */
export interface EndDeadline {
  /** The grace it was given, in seconds. */
  readonly graceSeconds: number;
  readonly deadlineMs: number;
}

/** A provider call that was begun and has not come back. */
export interface ProviderCall {
  readonly kind: "start" | "update" | "delete";
  /** Breaks the call off. */
  readonly abort: { readonly signal: AbortSignal; abort(reason: unknown): void };
  readonly startedMs: number;
  /** The call ignored its abort signal. The pod is left alone until the call comes back, because no pod has two calls at once. */
  readonly isGivenUp: boolean;
  /** The provider reported the pod gone while the call was under way. */
  readonly reportedGone: boolean;
}

/** Operations that the provider or the API server can ask to be left alone with. They are the kinds of action that call one of the two. */
export type Operation = (typeof operations)[number];

const operations = ["confirm", "inspect", "start", "update", "delete"] as const;

/** Whether a action of this kind is an {@link Operation}. */
export function isOperation(kind: string): kind is Operation {
  return operations.some((each) => each === kind);
}

/** An operation that failed and is not tried again before this time, because the other side asked for that (Retry-After). */
export interface RetryAfter {
  readonly operation: Operation;
  /** On the monotonic clock. */
  readonly notBeforeMs: number;
}

/** All the pod controller knows of one pod besides the API server's object. Changed by {@link step} alone. */
export interface PodState {
  readonly ref: PodRef;
  /** When the node first saw the pod, on the monotonic clock. */
  readonly firstSeenMs: number;
  readonly api: ApiPresence;
  readonly backend: Backend;
  /** `undefined` when no provider call is under way. */
  readonly call: ProviderCall | undefined;
  /** The provider's last report; the core's own copy. */
  readonly reported: ProviderPodStatus | undefined;
  /** The pod as a creation was first given it whose outcome is unclear: the back end may run this, and nothing newer. */
  readonly unconfirmed: DeepReadonly<Pod> | undefined;
  readonly verdict: Verdict | undefined;
  /** `undefined` when the pod runs with the resources it asks for, or nothing is known of a change. */
  readonly resize: PodResize | undefined;
  /** Set when the API server's object is being deleted. */
  readonly deletion: EndDeadline | undefined;
  /** Set when the pod is to end at the back end though nobody deletes it: its phase is final, or it has expired. */
  readonly teardown: EndDeadline | undefined;
  /** Whether the pod passed admission; it is not asked twice. */
  readonly admitted: boolean;
  /** Whether the provider has ever been seen to hold the pod. */
  readonly seen: boolean;
  /** How often the pod was created, one after the other, and when last. */
  readonly creations: { readonly count: number; readonly lastMs: number };
  /** When the back end's state was last learned or changed; an inventory begun earlier says nothing against it. */
  readonly touchedMs: number;
  /** Whether the last call failed for something the pod refers to, such as a secret that is missing. */
  readonly waitsForConfig: boolean;
  /** `undefined` when nobody asked for time, or the operation is no longer wanted. */
  readonly retryAfter: RetryAfter | undefined;
}

/** The state of a pod nothing is known of yet. */
export function newPodState(ref: PodRef, nowMs: number): PodState {
  return {
    ref,
    firstSeenMs: nowMs,
    api: "bound",
    backend: { kind: "unknown" },
    call: undefined,
    reported: undefined,
    unconfirmed: undefined,
    verdict: undefined,
    resize: undefined,
    deletion: undefined,
    teardown: undefined,
    admitted: false,
    seen: false,
    creations: { count: 0, lastMs: nowMs },
    touchedMs: nowMs,
    waitsForConfig: false,
    retryAfter: undefined,
  };
}

/** How long the back end has to hold a pod for its next loss to be like a first one. */
const steadyMs = 600_000;

/** One more creation. Those before a pod that stayed do not count. */
export function createdOnceMore({ creations: { count, lastMs } }: PodState, nowMs: number): PodState["creations"] {
  return { count: nowMs - lastMs < steadyMs ? count + 1 : 1, lastMs: nowMs };
}

/**
 * How long a pod is left alone that the back end has lost, in milliseconds: nothing the first time, then as long as a kubelet leaves
 * a container that crashes. A back end that loses what it makes would else be asked for it without end.
 */
export function recreationDelayMs({ creations: { count, lastMs } }: PodState, nowMs: number): number {
  if (count < 2) return 0;
  return Math.max(0, lastMs + Math.min(10_000 * 2 ** (count - 2), 300_000) - nowMs);
}

/** The pod as the provider was last given it; absent if the back end holds none of it, or that is not known. */
export function lastGiven(backend: Backend): DeepReadonly<Pod> | undefined {
  return backend.kind === "present" || backend.kind === "unknown" ? backend.applied : undefined;
}

/** The pod where something else may have reached the back end since it was given: the provider will be told once more. */
export function unclear(applied: DeepReadonly<Pod>): DeepReadonly<Pod> {
  return { ...applied, spec: undefined };
}

/** Whether the pod was told to end by a call that has not come back, and that is no longer waited for. */
export function isDeafDeletion({ call }: PodState): boolean {
  return call?.kind === "delete" && call.isGivenUp;
}

/** Whether nothing was decided between two states about how the pod ends. */
export function endsAlike(before: PodState, after: PodState): boolean {
  return before.deletion === after.deletion && before.teardown === after.teardown && before.api === after.api;
}

/** Whether nothing of the pod is left at the back end, and no call under way can bring it back. */
export function isOver({ backend, call }: PodState): boolean {
  if (backend.kind !== "gone" && backend.kind !== "absent") return false;
  return call === undefined || call.kind === "delete";
}

/**
 * Whether a report says that nothing of the pod runs now: its phase is final or every container has ended, sidecars and
 * ephemeral containers included. It may run again where {@link mayRestart} says so.
 *
 * @param pod - the API server's object, whose containers and sidecars must all be in the report; `undefined` where there is none
 */
export function hasEnded(status: ProviderPodStatus, pod: DeepReadonly<Pod> | undefined): boolean {
  if (isTerminalPhase(status.phase)) return true;
  if (status.endsWhenGone) return false;
  const containers = status.containerStatuses ?? [];
  const beside = [...(status.initContainerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])];
  if (beside.some(({ state }) => state?.running !== undefined)) return false;
  if (pod && !reportsAll(pod, status)) return false;
  return containers.length > 0 && containers.every(({ state }) => state?.terminated !== undefined);
}

/** Whether the report has every container of the spec that runs as long as the pod does. */
function reportsAll({ spec }: DeepReadonly<Pod>, status: ProviderPodStatus): boolean {
  const reported = new Set(allContainers(status).map(({ name }) => name));
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? []).filter(isSidecar)].every(({ name }) => reported.has(name));
}

/** Whether a container runs by the report, which may have a final phase all the same. */
export function runsStill(status: ProviderPodStatus): boolean {
  return allContainers(status).some(({ state }) => state?.running !== undefined);
}

/** Whether no container runs, and one has: of a pod that was told to end, those that wait are never started. */
export function hasStopped(status: ProviderPodStatus): boolean {
  if (runsStill(status)) return false;
  return allContainers(status).some(({ state, lastState }) => (state?.terminated ?? lastState?.terminated) !== undefined);
}

function allContainers(status: ProviderPodStatus): readonly DeepReadonly<ContainerStatus>[] {
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = status;
  return [...(initContainerStatuses ?? []), ...(containerStatuses ?? []), ...(ephemeralContainerStatuses ?? [])];
}

/** Whether a container of a pod that {@link hasEnded} may be between two runs, unless somebody ended the pod. */
export function mayRestart(pod: DeepReadonly<Pod> | undefined, status: ProviderPodStatus): boolean {
  if (isTerminalPhase(status.phase) || pod?.spec === undefined) return false;
  const { spec } = pod;
  return (status.containerStatuses ?? []).some(({ name, state }) => {
    const container = spec.containers.find((each) => each.name === name);
    return container !== undefined && shouldRestart(container, spec, state?.terminated?.exitCode ?? 0);
  });
}

/** Whether anything of the pod may be at the back end, or may still come there. */
export function mayBeHeld({ backend, call }: PodState): boolean {
  return call !== undefined || (backend.kind !== "absent" && backend.kind !== "gone");
}

/** Whether the API server's pod shows that its containers were started at some time. */
export function wasStarted(pod: DeepReadonly<Pod>): boolean {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  return statuses.some((status) => status.state?.running ?? status.state?.terminated ?? status.lastState?.terminated);
}
