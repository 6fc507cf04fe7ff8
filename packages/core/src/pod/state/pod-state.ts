import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { isSidecar, shouldRestart } from "@virtual-kubelet/kubernetes";
import type { PodRef } from "../../provider/pod-ref.ts";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { exitCodeOf } from "../status/canonical-status.ts";
import { hasFailedForGood, isTerminalPhase } from "../status/pod-phase.ts";
import type { PodResize } from "../resize/resize.ts";

/** Whether the API server has the pod. */
type ApiPresence =
  /** The store holds it, bound to this node. */
  | "bound"
  /** A relist did not contain it. Nothing is ended until a GET for this pod confirms that it is gone. */
  | "missing"
  /** The API server reported that it is deleted. Final, because a pod created again has another UID. */
  | "gone";

/** Known state of a pod at the back end. All times are on the monotonic clock, in milliseconds. */
export type Backend =
  /**
   * Nothing is known, or the outcome of a call is unclear. `applied`, if known, is the pod that may run. `isUnconfirmed` during a creation
   * whose refusal leaves the pod absent, but still unconfirmed. Left by asking the provider.
   */
  | { readonly kind: "unknown"; readonly applied?: DeepReadonly<Pod> | undefined; readonly isUnconfirmed?: boolean | undefined }
  /**
   * The provider does not hold the pod. Left by creating it. `isUnconfirmed` when only the first inventory lacks the pod, which may have a
   * gap: creating the pod is idempotent, but its end is not told before the provider is asked.
   */
  | { readonly kind: "absent"; readonly isUnconfirmed?: boolean | undefined }
  /** The provider holds the pod. `applied` is the pod as last passed to it. Left by ending the pod, or when the pod is lost. */
  | { readonly kind: "present"; readonly applied: DeepReadonly<Pod>; readonly sinceMs: number }
  /**
   * The provider was told to end the pod by `deadlineMs`, and is asked about it at `lookAtMs`. `accepted` once that call has
   * returned: from then on no container is started again.
   */
  | { readonly kind: "ending"; readonly deadlineMs: number; readonly lookAtMs: number; readonly accepted: boolean }
  /** The provider has ended the pod. */
  | { readonly kind: "gone" };

/** The core's own judgment of a pod, which takes precedence over the provider's reports. */
export type Verdict =
  /** The pod is Pending, and every container waits with this reason. */
  | { readonly kind: "waiting"; readonly reason: string; readonly message: string }
  /** Admission or policy refused the pod, which is Failed. */
  | { readonly kind: "rejected"; readonly reason: string; readonly message: string }
  /** The back end has lost the pod, which must not be created again and is Failed. */
  | { readonly kind: "lost"; readonly reason: string; readonly message: string }
  /** The pod exceeded its active deadline: it is ended, and Failed once its containers have ended. */
  | { readonly kind: "expired"; readonly reason: string; readonly message: string };

/** Time by which a pod has to end at the back end. */
export interface EndDeadline {
  /** The pod's grace period, in seconds. */
  readonly graceSeconds: number;
  readonly deadlineMs: number;
}

/** A provider call in progress. */
export interface ProviderCall {
  readonly kind: "start" | "update" | "delete";
  /** Aborts the call. */
  readonly abort: { readonly signal: AbortSignal; abort(reason: unknown): void };
  readonly startedMs: number;
  /** Whether the call ignored its abort signal. No other call is made for the pod until it returns. */
  readonly isGivenUp: boolean;
  /** Whether the provider reported the pod gone during the call. */
  readonly reportedGone: boolean;
  /** Whether the pod still waits for a permit to make the call. Default: `false`. */
  readonly isQueued?: boolean | undefined;
}

/** The last provider call that failed. */
interface FailedCall {
  readonly kind: ProviderCall["kind"];
  /** Without the pod's secrets. */
  readonly message: string;
  readonly atMs: number;
}

/** Kinds of action that call the provider or the API server, so that either can answer with a Retry-After. */
export type Operation = (typeof operations)[number];

const operations = ["confirm", "inspect", "start", "update", "delete"] as const;

export function isOperation(kind: string): kind is Operation {
  return operations.some((each) => each === kind);
}

/** A failed operation that is not retried before a given time, because the error carried a Retry-After. */
export interface RetryAfter {
  readonly operation: Operation;
  /** On the monotonic clock. */
  readonly notBeforeMs: number;
}

/** All knowledge about one pod in addition to the API server's object. Changed only by {@link step}. */
export interface PodState {
  readonly ref: PodRef;
  /** Time at which the node first saw the pod, on the monotonic clock. */
  readonly firstSeenMs: number;
  readonly api: ApiPresence;
  readonly backend: Backend;
  /** `undefined` when no provider call is in progress. */
  readonly call: ProviderCall | undefined;
  /** `undefined` when no call has failed, or one of its kind has succeeded since. Nothing depends on it: it is shown to people. */
  readonly failedCall: FailedCall | undefined;
  /** The core's own copy of the provider's last report. */
  readonly reported: ProviderPodStatus | undefined;
  /** Monotonic time at which the provider first reported that the pod has ended for good; `undefined` if it has not. */
  readonly endedMs: number | undefined;
  /** The pod as passed to the first creation with an unclear outcome. The back end may run this version, but no newer one. */
  readonly unconfirmed: DeepReadonly<Pod> | undefined;
  readonly verdict: Verdict | undefined;
  /** `undefined` when the pod runs with the resources of its spec, or no change of them is known. */
  readonly resize: PodResize | undefined;
  /** Set while the API server's object is being deleted. */
  readonly deletion: EndDeadline | undefined;
  /**
   * Set when the pod has to end at the back end without a deletion: its phase is final, it exceeded its active deadline, or the back end
   * removed it after its end.
   */
  readonly teardown: EndDeadline | undefined;
  /** Whether the pod passed admission, which happens once. */
  readonly admitted: boolean;
  /** Whether the provider has reported the pod since it was last called to create it. */
  readonly seen: boolean;
  /** Whether the back end has ever held the pod. */
  readonly wasHeld: boolean;
  /** Number of consecutive creations, and time of the last. */
  readonly creations: { readonly count: number; readonly lastMs: number };
  /** Time at which the back end's state was last learned or changed; the result of an inventory that began earlier is ignored. */
  readonly touchedMs: number;
  /** Whether the last call failed because of an object that the pod refers to, such as a missing secret. */
  readonly waitsForConfig: boolean;
  /** `undefined` when no Retry-After was given, or its operation is no longer needed. */
  readonly retryAfter: RetryAfter | undefined;
}

/** Returns the state of a pod of which nothing is known yet. */
export function newPodState(ref: PodRef, nowMs: number): PodState {
  return {
    ref,
    firstSeenMs: nowMs,
    api: "bound",
    backend: { kind: "unknown" },
    call: undefined,
    failedCall: undefined,
    reported: undefined,
    endedMs: undefined,
    unconfirmed: undefined,
    verdict: undefined,
    resize: undefined,
    deletion: undefined,
    teardown: undefined,
    admitted: false,
    seen: false,
    wasHeld: false,
    creations: { count: 0, lastMs: nowMs },
    touchedMs: nowMs,
    waitsForConfig: false,
    retryAfter: undefined,
  };
}

/** Time after which a creation is no longer counted as following the previous one. */
const steadyMs = 600_000;

/** Counts one more creation; earlier ones no longer count once the pod has stayed for a while. */
export function createdOnceMore({ creations: { count, lastMs } }: PodState, nowMs: number): PodState["creations"] {
  return { count: nowMs - lastMs < steadyMs ? count + 1 : 1, lastMs: nowMs };
}

/**
 * Back-off before a pod that the back end has lost is created again, in milliseconds: none the first time, then a kubelet's back-off for
 * containers that crash, so that a back end that loses its pods is not called in a tight loop.
 */
export function recreationDelayMs({ creations: { count, lastMs } }: PodState, nowMs: number): number {
  if (count < 2) return 0;
  return Math.max(0, lastMs + Math.min(10_000 * 2 ** (count - 2), 300_000) - nowMs);
}

/** Returns the pod as last passed to the provider; `undefined` if the back end does not hold it, or that is not known. */
export function lastGiven(backend: Backend): DeepReadonly<Pod> | undefined {
  return backend.kind === "present" || backend.kind === "unknown" ? backend.applied : undefined;
}

/** Marks a pod as possibly out of date at the back end, so that the next comparison leads to an update. */
export function unclear(applied: DeepReadonly<Pod>): DeepReadonly<Pod> {
  return { ...applied, spec: undefined };
}

/** Whether a deletion call has ignored its abort signal and has not returned. */
export function isDeafDeletion({ call }: PodState): boolean {
  return call?.kind === "delete" && call.isGivenUp;
}

/** Whether two states agree on how the pod has to end. */
export function endsAlike(before: PodState, after: PodState): boolean {
  return before.deletion === after.deletion && before.teardown === after.teardown && before.api === after.api;
}

/** Whether nothing of the pod is left at the back end, and no call in progress can create it again. */
export function isOver({ backend, call }: PodState): boolean {
  if (backend.kind !== "gone" && backend.kind !== "absent") return false;
  return call === undefined || call.kind === "delete";
}

/**
 * Whether nothing of the pod runs according to a report: its phase is final or every container has ended, including sidecars and
 * ephemeral containers. It can run again if {@link mayRestart} returns `true`.
 *
 * @param pod - the API server's object, whose containers and sidecars must all be in the report; `undefined` if there is none
 */
export function hasEnded(status: ProviderPodStatus, pod: DeepReadonly<Pod> | undefined): boolean {
  if (isTerminalPhase(status.phase)) return true;
  if (status.endsWhenGone) return false;
  if (hasRunning(status.initContainerStatuses) || hasRunning(status.ephemeralContainerStatuses)) return false;
  const containers = status.containerStatuses ?? [];
  if (containers.length === 0 || !containers.every(({ state }) => state?.terminated !== undefined)) return false;
  return !pod || reportsAll(pod, status);
}

/** Whether the report contains all containers and sidecars of the spec. */
function reportsAll({ spec }: DeepReadonly<Pod>, status: ProviderPodStatus): boolean {
  const reported = new Set(allContainers(status).map(({ name }) => name));
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? []).filter(isSidecar)].every(({ name }) => reported.has(name));
}

/** Whether a container runs according to the report, even if its phase is final. */
export function runsStill(status: ProviderPodStatus): boolean {
  return hasRunning(status.containerStatuses) || hasRunning(status.initContainerStatuses) || hasRunning(status.ephemeralContainerStatuses);
}

function hasRunning(statuses: readonly DeepReadonly<ContainerStatus>[] | undefined): boolean {
  return statuses?.some(({ state }) => state?.running !== undefined) ?? false;
}

/** Whether no container runs and at least one has run. In a pod that was told to end, waiting containers are never started. */
export function hasStopped(status: ProviderPodStatus): boolean {
  if (runsStill(status)) return false;
  return allContainers(status).some(({ state, lastState }) => (state?.terminated ?? lastState?.terminated) !== undefined);
}

function allContainers(status: ProviderPodStatus): readonly DeepReadonly<ContainerStatus>[] {
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = status;
  return [...(initContainerStatuses ?? []), ...(containerStatuses ?? []), ...(ephemeralContainerStatuses ?? [])];
}

/** Whether a container of a pod that {@link hasEnded} can be between two runs, provided that the pod is not being ended. */
export function mayRestart(pod: DeepReadonly<Pod> | undefined, status: ProviderPodStatus): boolean {
  if (isTerminalPhase(status.phase) || pod?.spec === undefined) return false;
  const { spec } = pod;
  return (status.containerStatuses ?? []).some(({ name, state }) => {
    const container = spec.containers.find((each) => each.name === name);
    return container !== undefined && shouldRestart(container, spec, state?.terminated ? exitCodeOf(state.terminated) : 0);
  });
}

/**
 * Whether a pod that the back end has lost may be created again. Creating it starts all of its containers, so none may have ended for good.
 * A container that ran at the last report counts as failed, with the exit code 137. A kubelet starts only the others, which a provider
 * cannot do.
 * Source: computePodActions in kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_manager.go.
 */
export function mayBeCreatedAgain(pod: DeepReadonly<Pod>, reported: ProviderPodStatus | undefined): boolean {
  const { spec, status } = pod;
  if (!spec || spec.restartPolicy === "Never") return false;
  return spec.containers.every((container) => {
    // The report is newer than the stored status.
    const states = [reported, status].flatMap(
      (each) => each?.containerStatuses?.filter(({ name }) => name === container.name).map(({ state }) => state) ?? [],
    );
    const ended = states.filter((state, index) => state?.terminated ?? (index === 0 && state?.running));
    return ended.every((state) => shouldRestart(container, spec, exitCodeOf(state?.terminated ?? {})));
  });
}

/**
 * Whether the pod has ended and no container of it can run again, according to the last report before the back end removed it. Sidecars end
 * with the containers, and with nothing left to release `endsWhenGone` no longer matters. An init container that has failed for good ends
 * the pod before its containers start.
 */
export function hadEndedForGood(pod: DeepReadonly<Pod>, reported: ProviderPodStatus | undefined): boolean {
  if (!reported || isTerminalPhase(reported.phase)) return reported !== undefined;
  if (hasFailedInit(pod, reported)) return true;
  const { containerStatuses } = reported;
  const hasTerminated = pod.spec?.containers.every((container) =>
    containerStatuses?.some(({ name, state }) => name === container.name && state?.terminated),
  );
  return hasTerminated === true && !mayRestart(pod, reported);
}

/** Whether an init container has failed and is not started again. */
function hasFailedInit({ spec }: DeepReadonly<Pod>, { initContainerStatuses }: ProviderPodStatus): boolean {
  if (!spec?.initContainers) return false;
  return spec.initContainers.some((container) => {
    const terminated = initContainerStatuses?.find(({ name }) => name === container.name)?.state?.terminated;
    return terminated && !isSidecar(container) && hasFailedForGood(container, spec, exitCodeOf(terminated));
  });
}

/** Whether the pod's final phase follows from the report. */
export function showsFinalPhase(pod: DeepReadonly<Pod>, status: ProviderPodStatus): boolean {
  if (status.phase === "Pending" || status.phase === "Running") return false;
  return hasEnded(status, pod) && !runsStill(status) && !mayRestart(pod, status);
}

/** Whether the back end may hold the pod, or a call in progress may create it. */
export function mayBeHeld({ backend, call }: PodState): boolean {
  return call !== undefined || (backend.kind !== "absent" && backend.kind !== "gone") || isUnconfirmed(backend);
}

/** Whether only the first inventory lacks the pod, or lacked it before the creation in progress. */
export function isUnconfirmed(backend: Backend): boolean {
  return (backend.kind === "absent" || backend.kind === "unknown") && backend.isUnconfirmed === true;
}

/** Whether the back end has ever held the pod. The status alone does not show that once it shows the pod as waiting. */
export function wasEverHeld({ wasHeld }: PodState, pod: DeepReadonly<Pod> | undefined): boolean {
  return wasHeld || (pod !== undefined && wasStarted(pod));
}

/** Whether a container of the pod has ever been started, according to the API server's object. */
export function wasStarted(pod: DeepReadonly<Pod>): boolean {
  return hasRun(pod.status?.containerStatuses) || hasRun(pod.status?.initContainerStatuses);
}

function hasRun(statuses: readonly DeepReadonly<ContainerStatus>[] | undefined): boolean {
  return statuses?.some(({ state, lastState }) => state?.running ?? state?.terminated ?? lastState?.terminated) ?? false;
}
