import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { isPastActiveDeadline, overdueMs } from "./end-deadline.ts";
import { needsUpdate } from "./pod-changes.ts";
import type { EventTime } from "./pod-event.ts";
import { isTerminalPhase } from "../status/pod-phase.ts";
import { hasEnded, isDeafDeletion, isOver, mayRestart, runsStill, type EndDeadline, type PodState, type RetryAfter } from "./pod-state.ts";

/** The next step for a pod. */
export type PodAction =
  | { readonly kind: "nothing" }
  /** Decide again after this time. */
  | { readonly kind: "wait"; readonly ms: number }
  /** Ask the API server whether the pod, which a relist did not contain, is gone. */
  | { readonly kind: "confirm" }
  /** Ask the provider whether it holds the pod. */
  | { readonly kind: "inspect" }
  /** Start the pod, if admission and the provider's capabilities allow it. */
  | { readonly kind: "start" }
  | { readonly kind: "update" }
  /** Judge the pod, which exceeded its active deadline, as expired, and end it. */
  | { readonly kind: "expire" }
  | { readonly kind: "delete"; readonly gracePeriodSeconds: number; readonly overdue: boolean }
  /** Write the pod's end, then remove it from the API server. */
  | { readonly kind: "finish" }
  /** Nothing is left of the pod on either side: drop its state. */
  | { readonly kind: "forget" };

/** Minimum difference by which a new deadline is earlier than the old one for the provider to be told. */
const deadlineSlackMs = 500;

/**
 * Decides the next step for a pod from the API server's object and the known state of the back end. Level-based: the decision
 * does not depend on earlier steps.
 *
 * @param pod - the API server's object; `undefined` if the store has none
 */
export function nextAction(pod: DeepReadonly<Pod> | undefined, state: PodState, time: EventTime): PodAction {
  const action = decide(pod, state, time);
  const { retryAfter } = state;
  if (!retryAfter || retryAfter.notBeforeMs <= time.nowMs || !isAskedToWait(retryAfter, action)) return action;
  return { kind: "wait", ms: waitUntilMs(retryAfter, state) - time.nowMs };
}

/** Whether the action is the operation with the Retry-After, or only prepares it. */
function isAskedToWait({ operation }: RetryAfter, { kind }: PodAction): boolean {
  return operation === kind || (kind === "inspect" && (operation === "start" || operation === "delete"));
}

/** A pod that outlives its grace is ended on time, even if the question about it has to wait longer. */
function waitUntilMs({ operation, notBeforeMs }: RetryAfter, { backend }: PodState): number {
  return operation === "inspect" && backend.kind === "ending" ? Math.min(notBeforeMs, backend.deadlineMs + overdueMs) : notBeforeMs;
}

function decide(pod: DeepReadonly<Pod> | undefined, state: PodState, time: EventTime): PodAction {
  if (state.call?.isGivenUp && !(state.deletion && isOver(state))) {
    // A question is not a second call, and the deletion may have succeeded: without it the object would stay forever.
    return state.deletion && isDeafDeletion(state) && pod ? { kind: "inspect" } : { kind: "nothing" };
  }
  if (!pod) return actionWithoutPod(state);
  if (state.deletion) return deletionAction(state, state.deletion, time.nowMs);
  if (state.teardown) return teardownAction(pod, state, state.teardown, time.nowMs);
  if (isTerminalPhase(pod.status?.phase) || state.verdict?.kind === "rejected" || state.verdict?.kind === "lost")
    return { kind: "nothing" };
  if (isPastActiveDeadline(pod, state, time)) return { kind: "expire" };
  return liveAction(pod, state);
}

function liveAction(pod: DeepReadonly<Pod>, { backend }: PodState): PodAction {
  switch (backend.kind) {
    case "unknown":
      return { kind: "inspect" };
    case "absent":
      return { kind: "start" };
    case "present":
      return needsUpdate(backend.applied, pod) ? { kind: "update" } : { kind: "nothing" };
    case "ending":
    case "gone":
      // Only a pod that has to end is ended, which is never revoked.
      return { kind: "nothing" };
    default:
      return backend satisfies never;
  }
}

/** A pod that was force-deleted or garbage-collected ends at the back end without grace. */
function actionWithoutPod({ api, backend }: PodState): PodAction {
  if (api !== "gone") return { kind: "confirm" };
  return backend.kind === "absent" || backend.kind === "gone"
    ? { kind: "forget" }
    : { kind: "delete", gracePeriodSeconds: 0, overdue: false };
}

function deletionAction(state: PodState, deletion: EndDeadline, nowMs: number): PodAction {
  const { backend } = state;
  switch (backend.kind) {
    case "unknown":
    case "present":
      return { kind: "delete", gracePeriodSeconds: secondsLeft(deletion, nowMs), overdue: false };
    case "absent":
    case "gone":
      return { kind: "finish" };
    case "ending":
      return endingAction(state, backend, deletion, nowMs);
    default:
      return backend satisfies never;
  }
}

/**
 * A pod that has to end without a deletion: its phase is final, whoever wrote it, or its active deadline has passed. A pod that ended by
 * itself stays at the back end, with its logs, until it is deleted.
 * Source: terminal pods are torn down by syncTerminatingPod in kubernetes v1.36.3 pkg/kubelet/pod_workers.go.
 */
function teardownAction(pod: DeepReadonly<Pod>, state: PodState, teardown: EndDeadline, nowMs: number): PodAction {
  const { backend, reported } = state;
  switch (backend.kind) {
    case "unknown":
      return { kind: "inspect" };
    case "present":
      if (reported && hasEnded(reported, pod) && !runsStill(reported) && !mayRestart(pod, reported)) return { kind: "nothing" };
      return { kind: "delete", gracePeriodSeconds: secondsLeft(teardown, nowMs), overdue: false };
    case "absent":
    case "gone":
      return { kind: "nothing" };
    case "ending":
      return endingAction(state, backend, teardown, nowMs);
    default:
      return backend satisfies never;
  }
}

function endingAction(
  { reported }: PodState,
  backend: Extract<PodState["backend"], { kind: "ending" }>,
  end: EndDeadline,
  nowMs: number,
): PodAction {
  const { deadlineMs } = end;
  if (deadlineMs < backend.deadlineMs - deadlineSlackMs)
    return { kind: "delete", gracePeriodSeconds: secondsLeft(end, nowMs), overdue: false };
  if (nowMs < backend.lookAtMs) return { kind: "wait", ms: backend.lookAtMs - nowMs };
  // A pod that no longer runs needs no second deletion, because the provider is releasing its resources.
  const isReleasing = reported?.endsWhenGone && backend.accepted && !runsStill(reported);
  return isReleasing || nowMs < backend.deadlineMs + overdueMs
    ? { kind: "inspect" }
    : { kind: "delete", gracePeriodSeconds: 0, overdue: true };
}

/** Remaining grace in whole seconds, rounded up after the clock's fractions of a millisecond are dropped. */
function secondsLeft({ deadlineMs }: EndDeadline, nowMs: number): number {
  return Math.max(0, Math.ceil(Math.round(deadlineMs - nowMs) / 1000));
}

/** Whether a change of the API server's object can lead to another action. */
export function mayChangeAction(previous: DeepReadonly<Pod>, next: DeepReadonly<Pod>): boolean {
  const before = previous.metadata;
  const after = next.metadata;
  return (
    before?.deletionTimestamp !== after?.deletionTimestamp ||
    before?.deletionGracePeriodSeconds !== after?.deletionGracePeriodSeconds ||
    isTerminalPhase(previous.status?.phase) !== isTerminalPhase(next.status?.phase) ||
    needsUpdate(previous, next)
  );
}
