import type { DeepReadonly, PodStatus } from "@virtual-kubelet/kube-client";
import { nextAction, type PodAction } from "../pod/state/next-action.ts";
import type { EventTime } from "../pod/state/pod-event.ts";
import type { Backend, PodState, ProviderCall, Verdict } from "../pod/state/pod-state.ts";
import { providerMessage } from "../provider-calls/provider-message.ts";
import type { PodParts } from "./pod-parts.ts";
import { describeProblem, findPodProblem } from "./pod-problem.ts";

/** What happens to a pod at this moment. Durations are in milliseconds, and end or begin at the moment of the inspection. */
export type PodActivity =
  /** Nothing is to be done. */
  | { readonly kind: "idle" }
  /** The pod waits for a worker. */
  | { readonly kind: "queued"; readonly forMs: number }
  /** The pod waits for a permit to call the provider, because other calls take long. */
  | { readonly kind: "waitingForPermit"; readonly operation: ProviderCall["kind"]; readonly forMs: number }
  /** The provider was called. `isGivenUp` when the call has ignored its abort signal, and nobody waits for its outcome. */
  | { readonly kind: "calling"; readonly operation: ProviderCall["kind"]; readonly forMs: number; readonly isGivenUp: boolean }
  /** Something else is being done, such as a question to the provider or to the API server. */
  | { readonly kind: "working"; readonly forMs: number }
  /** The last attempt failed, and is repeated. */
  | { readonly kind: "backingOff"; readonly inMs: number }
  /** The pod is looked at again later, for example when its grace period ends. */
  | { readonly kind: "scheduled"; readonly inMs: number };

/**
 * State of one pod at one moment, for people. It is plain JSON, and contains no annotation, command, environment variable or secret. Messages
 * of errors are those of the pod's events, without credentials and of limited length.
 */
export interface PodInspection {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Milliseconds since the node first saw the pod. */
  readonly ageMs: number;
  /** Phase that the API server has; `undefined` if it no longer has the pod. */
  readonly phase: string | undefined;
  /** Phase that the node wants the API server to have; `undefined` while there is none. */
  readonly wantedPhase: string | undefined;
  /** Whether the API server has the status that the node wants. */
  readonly isStatusWritten: boolean;
  /** Whether the API server has the pod. `missing` if a list lacked it, and its end is not confirmed. */
  readonly apiServer: PodState["api"];
  /** What is known of the pod at the back end. */
  readonly backEnd: Backend["kind"];
  /** The next step for the pod. */
  readonly next: PodAction["kind"];
  readonly activity: PodActivity;
  /** Number of consecutive failures of the pod's work. */
  readonly failures: number;
  /** The core's own judgment; `undefined` when the provider's report counts. */
  readonly verdict: { readonly kind: Verdict["kind"]; readonly reason: string; readonly message: string } | undefined;
  /** Set while the pod has to end: its grace period, and the time until the grace period is over, which can be negative. */
  readonly ending: { readonly graceSeconds: number; readonly inMs: number } | undefined;
  /** The last error that has not been followed by a success. */
  readonly lastError: { readonly message: string; readonly ageMs: number } | undefined;
  /** What is wrong with the pod, in one line; `undefined` if nothing is. */
  readonly problem: string | undefined;
}

/** The status of a pod, as far as it is inspected. */
export interface StatusParts {
  readonly wanted: DeepReadonly<PodStatus> | undefined;
  readonly isWritten: boolean;
}

/** Returns the state of a pod for people. */
export function inspectPod(parts: PodParts, { wanted, isWritten }: StatusParts, time: EventTime): PodInspection {
  const { state, pod, work } = parts;
  const { ref, verdict, deletion, teardown } = state;
  const end = deletion ?? teardown;
  const problem = findPodProblem(parts, time.nowMs);
  return {
    namespace: ref.namespace,
    name: ref.name,
    uid: ref.uid,
    ageMs: time.nowMs - state.firstSeenMs,
    phase: pod?.status?.phase,
    wantedPhase: wanted?.phase,
    isStatusWritten: isWritten,
    apiServer: state.api,
    backEnd: state.backend.kind,
    next: nextAction(pod, state, time).kind,
    activity: activityOf(parts, time.nowMs),
    failures: work?.failures ?? 0,
    verdict: verdict && { kind: verdict.kind, reason: verdict.reason, message: providerMessage(verdict.message || verdict.reason) },
    ending: end && { graceSeconds: end.graceSeconds, inMs: end.deadlineMs - time.nowMs },
    lastError: lastErrorOf(parts, time.nowMs),
    problem: problem && describeProblem(problem),
  };
}

function activityOf({ state, work }: PodParts, nowMs: number): PodActivity {
  const { call } = state;
  if (call) {
    const about = { operation: call.kind, forMs: nowMs - call.startedMs };
    return call.isQueued ? { kind: "waitingForPermit", ...about } : { kind: "calling", ...about, isGivenUp: call.isGivenUp };
  }
  if (!work) return { kind: "idle" };
  const forMs = nowMs - (work.sinceMs ?? nowMs);
  if (work.state === "working") return { kind: "working", forMs };
  if (work.state === "queued") return { kind: "queued", forMs };
  if (work.dueMs === undefined) return { kind: "idle" };
  return { kind: work.failures > 0 ? "backingOff" : "scheduled", inMs: Math.max(0, work.dueMs - nowMs) };
}

/** The newest of the errors of the pod's work, of its calls and of the writing of its status. */
function lastErrorOf({ state, work, writing }: PodParts, nowMs: number): PodInspection["lastError"] {
  const { failedCall } = state;
  const errors = [
    ...(failedCall ? [{ error: failedCall.message as unknown, atMs: failedCall.atMs }] : []),
    ...[work?.failure, writing?.failure].filter((failure) => failure !== undefined),
  ];
  const last = errors.toSorted((a, b) => a.atMs - b.atMs).at(-1);
  return last && { message: providerMessage(last.error), ageMs: nowMs - last.atMs };
}
