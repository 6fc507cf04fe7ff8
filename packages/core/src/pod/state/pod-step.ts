import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { isTerminalPhase } from "../status/pod-phase.ts";
import { deletionDeadline, lookAfterMs, overdueMs } from "./end-deadline.ts";
import { needsUpdate } from "./pod-changes.ts";
import type { EventTime, PodEvent } from "./pod-event.ts";
import { asItRuns, isResized, showsPendingResize } from "../resize/resize.ts";
import {
  createdOnceMore,
  endsAlike,
  hadEndedForGood,
  hasEnded,
  hasStopped,
  isDeafDeletion,
  isUnconfirmed,
  lastGiven,
  mayRestart,
  showsFinalPhase,
  unclear,
  wasEverHeld,
  type Backend,
  type PodState,
  type ProviderCall,
} from "./pod-state.ts";

/** Time after its creation during which a pod may be missing from inventories. */
const appearanceMs = 60_000;

/** Delay before the provider confirms that containers that ended before it accepted the delete were not started again. */
const confirmEndMs = 1_000;

/** The API server's default for `terminationGracePeriodSeconds`. */
const defaultGraceSeconds = 30;

/**
 * Returns the state of a pod after an event. Pure. Every change of a pod's state goes
 * through here; `nextAction` derives the next step from the new state alone.
 */
export function step(state: PodState, event: PodEvent, time: EventTime): PodState {
  const next = confirmedBeforeEnd(onEvent(state, event, time));
  // A Retry-After of an earlier operation does not delay the pod's end.
  return next.retryAfter && !endsAlike(state, next) ? { ...next, retryAfter: undefined } : next;
}

/** A pod that only an inventory lacked may be at the back end, so that it is ended there, too. */
function confirmedBeforeEnd(state: PodState): PodState {
  const { backend } = state;
  return backend.kind === "absent" && backend.isUnconfirmed && isToEnd(state) ? { ...state, backend: { kind: "unknown" } } : state;
}

// oxlint-disable-next-line complexity -- the table of all events, a case each
function onEvent(state: PodState, event: PodEvent, time: EventTime): PodState {
  const { nowMs } = time;
  switch (event.kind) {
    case "bound":
      return onBound(state, event, time);
    case "missing":
      return state.api === "bound" ? { ...state, api: "missing" } : state;
    case "vanished":
      return { ...state, api: "gone" };
    case "held":
      return onHeld(state, event, nowMs);
    case "reportedGone":
      return onReportedGone(state, event.pod, nowMs);
    case "unlisted":
      return onUnlisted(state, event, nowMs);
    case "notFound":
      return withoutBackend(state, event.pod, nowMs);
    case "queued":
      return { ...state, call: { ...event.call, isQueued: true } };
    case "dequeued":
      return { ...state, call: undefined };
    case "called":
      return onCalled(state, event, nowMs);
    case "returned":
      return onReturned(state, event, nowMs);
    case "refused":
      return onRefused({ ...withFailure(state, event.message, nowMs), call: undefined }, state.call?.kind, event, nowMs);
    case "failed":
      return onFailed(withFailure(state, event.message, nowMs), event.message, nowMs);
    case "doubted":
      return learn({ ...state, call: undefined }, { kind: "unknown", applied: lastGiven(state.backend) }, nowMs);
    case "givenUp":
      return state.call ? { ...state, call: { ...state.call, isGivenUp: true } } : state;
    case "settled":
      return onSettled(state, nowMs);
    case "judged":
      return onJudged(state, event, nowMs);
    case "resizePending":
      return onResizePending(state, event);
    case "admitted":
      return { ...state, admitted: true };
    case "waitsForConfig":
      return { ...state, waitsForConfig: true };
    case "throttled":
      return { ...state, retryAfter: { operation: event.operation, notBeforeMs: nowMs + event.ms } };
    case "unthrottled":
      return state.retryAfter ? { ...state, retryAfter: undefined } : state;
    default:
      return event satisfies never;
  }
}

/** Whether the pod has to end at the back end. */
function isToEnd({ api, deletion, teardown }: PodState): boolean {
  return api === "gone" || deletion !== undefined || teardown !== undefined;
}

/** Sets what is known of the back end, and the time. */
function learn(state: PodState, backend: Backend, nowMs: number): PodState {
  return { ...state, backend, touchedMs: nowMs };
}

function onBound(state: PodState, { pod, isNew, neverStarted }: Extract<PodEvent, { kind: "bound" }>, time: EventTime): PodState {
  return {
    ...state,
    api: "bound",
    // A new pod that was never started cannot be at the back end.
    backend: isNew && neverStarted ? { kind: "absent" } : withNewest(state, pod),
    resize: isTakenBack(state, pod) ? undefined : state.resize,
    deletion: deletionOf(state, pod, !isNew, time),
    teardown: state.teardown ?? (isTerminalPhase(pod.status?.phase) ? teardownOf(pod, time.nowMs) : undefined),
  };
}

/** The back end's state with the newest version of the pod, if the provider runs just that: the earlier one then takes no memory. */
function withNewest({ backend, resize }: PodState, pod: DeepReadonly<Pod>): Backend {
  if (backend.kind !== "present" || resize || !backend.applied.spec) return backend;
  const { applied } = backend;
  const isSame = applied.metadata?.generation === pod.metadata?.generation && !needsUpdate(applied, pod);
  return isSame && applied !== pod ? { ...backend, applied: pod } : backend;
}

/** A pod that is told to end for another reason does not get more time because it is deleted, too. */
function deletionOf(state: PodState, pod: DeepReadonly<Pod>, live: boolean, time: EventTime): PodState["deletion"] {
  const { deletion: known, reported, teardown } = state;
  const deletion = deletionDeadline(pod, known, live, time);
  if (!deletion || !teardown || (reported && hasStopped(reported))) return deletion;
  return { ...deletion, deadlineMs: Math.min(deletion.deadlineMs, teardown.deadlineMs) };
}

/** Whether the spec no longer asks for the pending resize. */
function isTakenBack({ resize, backend }: PodState, pod: DeepReadonly<Pod>): boolean {
  if (resize?.kind !== "pending" || resize.refused || backend.kind !== "present" || !backend.applied.spec) return false;
  return !isResized(backend.applied, pod);
}

function onResizePending(state: PodState, { resize, given }: Extract<PodEvent, { kind: "resizePending" }>): PodState {
  const { backend } = state;
  return { ...state, resize, backend: given && backend.kind === "present" ? { ...backend, applied: given } : backend };
}

function teardownOf(pod: DeepReadonly<Pod>, nowMs: number): PodState["teardown"] {
  return graceFrom(pod.spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds, nowMs);
}

function graceFrom(graceSeconds: number, nowMs: number): NonNullable<PodState["teardown"]> {
  return { graceSeconds, deadlineMs: nowMs + graceSeconds * 1000 };
}

function onHeld(state: PodState, { status, pod, asked }: Extract<PodEvent, { kind: "held" }>, nowMs: number): PodState {
  const { backend, verdict } = state;
  const next: PodState = {
    ...state,
    reported: status,
    endedMs: endedMsOf(state, status, pod, nowMs),
    seen: true,
    wasHeld: true,
    touchedMs: nowMs,
    verdict: verdict?.kind === "waiting" ? undefined : verdict,
  };
  switch (backend.kind) {
    case "ending":
      if (endsNow(backend, { status, pod, asked })) return learn(next, { kind: "gone" }, nowMs);
      if (!asked) return next;
      return learn(next, { ...backend, lookAtMs: Math.max(nowMs + lookAfterMs, backend.deadlineMs + overdueMs) }, nowMs);
    case "present":
      return next;
    case "gone":
      // The pod counted as ended and runs, so it has to be ended again. Containers that a report leaves out do not count as running.
      return hasEnded(status, undefined) ? next : adopt(next, pod, nowMs);
    case "unknown":
    case "absent":
      // The deletion that was given up has succeeded, although it has not returned.
      if (isDeafDeletion(state) && !status.endsWhenGone && hasEnded(status, pod) && !mayRestart(pod, status))
        return learn(next, { kind: "gone" }, nowMs);
      return state.call ? next : adopt(next, pod, nowMs);
    default:
      return backend satisfies never;
  }
}

function endedMsOf(
  { endedMs }: PodState,
  status: ProviderPodStatus,
  pod: DeepReadonly<Pod> | undefined,
  nowMs: number,
): number | undefined {
  if (!pod) return endedMs;
  return showsFinalPhase(pod, status) ? (endedMs ?? nowMs) : undefined;
}

/** Whether a report shows the end of a pod that the provider was told to end. */
function endsNow(
  { accepted }: Extract<Backend, { kind: "ending" }>,
  { status, pod, asked }: Pick<Extract<PodEvent, { kind: "held" }>, "status" | "pod" | "asked">,
): boolean {
  if (status.endsWhenGone) return false;
  if (hasEnded(status, pod) && (accepted || !mayRestart(pod, status))) return true;
  // After the deadline a waiting container, such as one behind its init container, is never started.
  return asked && accepted && hasStopped(status);
}

/**
 * Adopts a back-end pod whose creation was not seen, or whose state was unknown. It is assumed to run the pod as last passed, or as
 * first passed by an unconfirmed creation, or else the generation in its status.
 */
function adopt(state: PodState, pod: DeepReadonly<Pod> | undefined, nowMs: number): PodState {
  if (!pod) return { ...state, admitted: true };
  const found = state.reported?.isMetadataOutdated ? unclear(pod) : lastTold(pod);
  const applied = lastGiven(state.backend) ?? state.unconfirmed ?? found;
  return learn({ ...state, admitted: true, unconfirmed: undefined }, { kind: "present", applied, sinceMs: nowMs }, nowMs);
}

/** The pod as last passed to the provider according to its status; without a spec if that is not known. */
function lastTold(pod: DeepReadonly<Pod>): DeepReadonly<Pod> {
  const { generation } = pod.metadata ?? {};
  // Without a status the provider can only have received the pod's first generation.
  const observed = pod.status?.observedGeneration ?? 1;
  const isCurrent = generation === undefined || observed >= generation;
  // A pending resize is observed, but was not passed to the provider.
  if (isCurrent && showsPendingResize(pod)) return asItRuns(pod) ?? unclear(pod);
  return isCurrent ? pod : unclear({ ...pod, metadata: { ...pod.metadata, generation: observed } });
}

/** The pod with an earlier spec, if an earlier run of the program may have passed that to the provider. */
function olderThan(pod: DeepReadonly<Pod>): DeepReadonly<Pod> | undefined {
  const told = lastTold(pod);
  return told === pod ? undefined : told;
}

/** The back end no longer holds the pod. It is created again unless it has to end, or had ended for good before. */
function withoutBackend(state: PodState, pod: DeepReadonly<Pod> | undefined, nowMs: number): PodState {
  if (isToEnd(state)) return learn(state, { kind: "gone" }, nowMs);
  // Without a report of this run, the status tells of the last one.
  if (!pod || !hadEndedForGood(pod, state.reported ?? pod.status)) return learn(state, { kind: "absent" }, nowMs);
  return learn({ ...state, endedMs: state.endedMs ?? nowMs, teardown: teardownOf(pod, nowMs) }, { kind: "gone" }, nowMs);
}

function onReportedGone(state: PodState, pod: DeepReadonly<Pod> | undefined, nowMs: number): PodState {
  const { backend, call } = state;
  // The creation in progress may still make the pod; the provider is asked when it has returned.
  if (call?.kind === "start") return { ...state, call: { ...call, reportedGone: true } };
  if (backend.kind === "gone" || backend.kind === "absent") return state;
  return backend.kind === "ending" ? learn(state, { kind: "gone" }, nowMs) : withoutBackend(state, pod, nowMs);
}

/** A pod that a complete inventory lacks is unknown: the provider is asked again before it counts as gone. */
function onUnlisted(state: PodState, { isFirst, neverStarted, pod }: Extract<PodEvent, { kind: "unlisted" }>, nowMs: number): PodState {
  const { backend } = state;
  switch (backend.kind) {
    case "ending":
      return learn(state, { ...backend, lookAtMs: nowMs }, nowMs);
    case "unknown":
      // After the first inventory a pod is unknown only because of an unclear call, for which a list may be too old.
      if (!isFirst || state.deletion) return state;
      if (state.teardown) return learn(state, { kind: "gone" }, nowMs);
      return neverStarted
        ? learn({ ...state, unconfirmed: state.unconfirmed ?? (pod && olderThan(pod)) }, { kind: "absent", isUnconfirmed: true }, nowMs)
        : state;
    case "present":
      if (!state.seen && nowMs - backend.sinceMs <= appearanceMs) return state;
      return learn(state, { kind: "unknown", applied: backend.applied }, nowMs);
    case "absent":
    case "gone":
      return state;
    default:
      return backend satisfies never;
  }
}

function onCalled(state: PodState, { call, pod, end }: Extract<PodEvent, { kind: "called" }>, nowMs: number): PodState {
  const next: PodState = { ...state, call, waitsForConfig: false, retryAfter: undefined };
  switch (call.kind) {
    case "start":
      return learn(
        {
          ...next,
          seen: false,
          wasHeld: wasEverHeld(state, pod),
          reported: undefined,
          endedMs: undefined,
          resize: undefined,
          unconfirmed: state.unconfirmed ?? pod,
        },
        { kind: "unknown", isUnconfirmed: isUnconfirmed(state.backend) },
        nowMs,
      );
    case "update":
      return startsResize(state, pod) ? { ...next, resize: { kind: "inProgress", error: undefined } } : next;
    case "delete":
      return end ? learn(next, { kind: "ending", ...end, accepted: false }, nowMs) : next;
    default:
      return call.kind satisfies never;
  }
}

/** Whether the update includes a resize. */
function startsResize({ backend, resize }: PodState, pod: DeepReadonly<Pod> | undefined): boolean {
  const applied = lastGiven(backend);
  if (resize?.kind === "pending" && (resize.refused || !applied?.spec)) return true;
  return applied !== undefined && pod !== undefined && isResized(applied, pod);
}

/** The resize after the provider failed at it. */
function failedResize({ resize }: PodState, error: string): PodState["resize"] {
  return resize?.kind === "inProgress" ? { kind: "inProgress", error } : resize;
}

/** Keeps the message of the call that has failed. */
function withFailure(state: PodState, message: string, nowMs: number): PodState {
  const { call } = state;
  return call ? { ...state, failedCall: { kind: call.kind, message, atMs: nowMs } } : state;
}

function onReturned(state: PodState, { pod }: Extract<PodEvent, { kind: "returned" }>, nowMs: number): PodState {
  const { call } = state;
  const kind = call?.kind;
  const failedCall = state.failedCall?.kind === kind ? undefined : state.failedCall;
  const next: PodState = { ...state, call: undefined, failedCall, touchedMs: nowMs };
  switch (kind) {
    case "start":
      if (call?.reportedGone) return learn(next, { kind: "unknown" }, nowMs);
      // The provider may have adopted a pod that an earlier call created from an earlier spec.
      return learn(
        { ...next, verdict: undefined, unconfirmed: undefined, wasHeld: true, creations: createdOnceMore(state, nowMs) },
        { kind: "present", applied: state.unconfirmed ?? pod ?? {}, sinceMs: nowMs },
        nowMs,
      );
    case "update":
      return onUpdated(next, pod, nowMs);
    case "delete":
      return onDeleteAccepted(next, pod, nowMs);
    case undefined:
      return next;
    default:
      return kind satisfies never;
  }
}

function onUpdated(state: PodState, pod: DeepReadonly<Pod> | undefined, nowMs: number): PodState {
  const next = { ...state, resize: state.resize?.kind === "inProgress" ? undefined : state.resize };
  return state.backend.kind === "present" && pod ? learn(next, { kind: "present", applied: pod, sinceMs: nowMs }, nowMs) : next;
}

/** The provider has accepted the deletion. Containers reported as ended before may have been between two runs. */
function onDeleteAccepted(state: PodState, pod: DeepReadonly<Pod> | undefined, nowMs: number): PodState {
  const { api, backend, reported } = state;
  if (backend.kind !== "ending") return state;
  // Without an API object no status depends on the end.
  if (api === "gone") return learn(state, { kind: "gone" }, nowMs);
  if (!reported || reported.endsWhenGone || !hasEnded(reported, pod)) return learn(state, { ...backend, accepted: true }, nowMs);
  if (!mayRestart(pod, reported)) return learn(state, { kind: "gone" }, nowMs);
  return learn(state, { ...backend, accepted: true, lookAtMs: nowMs + confirmEndMs }, nowMs);
}

/** A refused creation leaves nothing new at the back end. A pod that the provider reported during the call is that of an earlier creation. */
function onRefused(
  state: PodState,
  kind: ProviderCall["kind"] | undefined,
  { pod, message }: Extract<PodEvent, { kind: "refused" }>,
  nowMs: number,
): PodState {
  switch (kind) {
    case "start":
      return learn(
        { ...state, unconfirmed: state.unconfirmed === pod ? undefined : state.unconfirmed },
        state.seen ? { kind: "unknown" } : { kind: "absent", isUnconfirmed: isUnconfirmed(state.backend) },
        nowMs,
      );
    case "update":
      // An update that can never be applied is not retried before the next change.
      return onUpdateRefused(state, pod, message, nowMs);
    case "delete":
      return learn(state, { kind: "gone" }, nowMs);
    case undefined:
      return state;
    default:
      return kind satisfies never;
  }
}

function onUpdateRefused(state: PodState, pod: DeepReadonly<Pod> | undefined, message: string, nowMs: number): PodState {
  const { resize, backend } = state;
  const generation = pod?.metadata?.generation;
  const refusedResize: PodState["resize"] =
    resize?.kind === "inProgress" ? { kind: "pending", reason: "Infeasible", message, generation, refused: true } : resize;
  const next = { ...state, resize: refusedResize, touchedMs: nowMs };
  return backend.kind === "present" && pod ? learn(next, { kind: "present", applied: pod, sinceMs: nowMs }, nowMs) : next;
}

function onFailed(state: PodState, message: string, nowMs: number): PodState {
  const { backend, call } = state;
  // A call that was given up has not returned yet.
  const next: PodState = { ...state, call: call?.isGivenUp ? call : undefined, touchedMs: nowMs };
  if (backend.kind === "gone") return next;
  const kind = call?.kind;
  switch (kind) {
    case "start":
    case "delete":
      return learn(next, { kind: "unknown" }, nowMs);
    case "update":
      // The update may have been applied, so a change back has to be passed as well.
      return onUpdateFailed({ ...next, resize: failedResize(state, message) }, nowMs);
    case undefined:
      return next;
    default:
      return kind satisfies never;
  }
}

function onUpdateFailed(state: PodState, nowMs: number): PodState {
  const { backend } = state;
  return backend.kind === "present" ? learn(state, { ...backend, applied: unclear(backend.applied) }, nowMs) : state;
}

/** A late return leaves the pod unknown, because nobody processed the call's answer. */
function onSettled(state: PodState, nowMs: number): PodState {
  const { backend, call } = state;
  const next: PodState = { ...state, call: undefined };
  if (backend.kind === "gone" && call?.kind !== "start") return next;
  const applied = lastGiven(backend);
  return learn(next, { kind: "unknown", applied: applied && unclear(applied) }, nowMs);
}

function onJudged(state: PodState, { verdict, graceSeconds }: Extract<PodEvent, { kind: "judged" }>, nowMs: number): PodState {
  const teardown = verdict.kind === "expired" ? (state.teardown ?? graceFrom(graceSeconds, nowMs)) : state.teardown;
  return { ...state, verdict, teardown };
}
