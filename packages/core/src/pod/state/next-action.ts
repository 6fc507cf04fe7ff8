import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { isPastActiveDeadline, overdueMs } from "./end-deadline.ts";
import { needsUpdate } from "./pod-changes.ts";
import type { EventTime } from "./pod-event.ts";
import { isTerminalPhase } from "../status/pod-phase.ts";
import { hasEnded, isDeafDeletion, isOver, mayRestart, runsStill, type EndDeadline, type PodState, type RetryAfter } from "./pod-state.ts";

/** The next thing to do for a pod. */
export type PodAction =
  | { readonly kind: "nothing" }
  /** Look again then. */
  | { readonly kind: "wait"; readonly ms: number }
  /** Ask the API server whether the pod, which a relist did not have, is gone. */
  | { readonly kind: "confirm" }
  /** Ask the provider whether it holds the pod. */
  | { readonly kind: "inspect" }
  /** Start the pod, if admission and the provider's capabilities let it. */
  | { readonly kind: "start" }
  | { readonly kind: "update" }
  /** The pod has been active for longer than it may: judge it so, and end it. */
  | { readonly kind: "expire" }
  | { readonly kind: "delete"; readonly gracePeriodSeconds: number; readonly overdue: boolean }
  /** Write the pod's end, then remove it from the API server. */
  | { readonly kind: "finish" }
  /** Nothing is left of the pod on either side: drop its state. */
  | { readonly kind: "forget" };

/** How far a new deadline must lie before the old one for the provider to be told. */
const deadlineSlackMs = 500;

/**
 * Decides what to do next for a pod, from what the API server wants and what is known of the back end. Level-based: it
 * is right whatever happened before.
 *
 * @param pod - the API server's object; `undefined` if the store has none
 */
export function nextAction(pod: DeepReadonly<Pod> | undefined, state: PodState, time: EventTime): PodAction {
  const action = decide(pod, state, time);
  const { retryAfter } = state;
  if (!retryAfter || retryAfter.notBeforeMs <= time.nowMs || !isAskedToWait(retryAfter, action)) return action;
  return { kind: "wait", ms: waitUntilMs(retryAfter, state) - time.nowMs };
}

/** Whether the action is the operation that was asked to wait, or only prepares it. */
function isAskedToWait({ operation }: RetryAfter, { kind }: PodAction): boolean {
  return operation === kind || (kind === "inspect" && (operation === "start" || operation === "delete"));
}

/** A pod that outlives its grace is ended at once then, also where the question about it has to wait for longer. */
function waitUntilMs({ operation, notBeforeMs }: RetryAfter, { backend }: PodState): number {
  return operation === "inspect" && backend.kind === "ending" ? Math.min(notBeforeMs, backend.deadlineMs + overdueMs) : notBeforeMs;
}

function decide(pod: DeepReadonly<Pod> | undefined, state: PodState, time: EventTime): PodAction {
  if (state.call?.isGivenUp && !(state.deletion && isOver(state))) {
    // To ask is no second call: the deletion may have done its work, and the object would stay for ever.
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
      // Only a pod that is to end is ended, and that is never taken back.
      return { kind: "nothing" };
    default:
      return backend satisfies never;
  }
}

/** A pod that was force-deleted or garbage-collected: whatever the back end holds of it has no more time. */
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
 * A pod that nobody deletes and that is to end: its phase is final, whoever wrote that, or its time is up. What ended by
 * itself stays at the back end, where its logs are, until the pod is deleted.
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
  // What no longer runs needs no second deletion: the provider is releasing what the pod used.
  const isReleasing = reported?.endsWhenGone && backend.accepted && !runsStill(reported);
  return isReleasing || nowMs < backend.deadlineMs + overdueMs
    ? { kind: "inspect" }
    : { kind: "delete", gracePeriodSeconds: 0, overdue: true };
}

/** What is left of a grace, in whole seconds, rounded up; the clock's fractions of a millisecond do not count. */
function secondsLeft({ deadlineMs }: EndDeadline, nowMs: number): number {
  return Math.max(0, Math.ceil(Math.round(deadlineMs - nowMs) / 1000));
}

/** Whether a change of the API server's object can call for another action. */
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
