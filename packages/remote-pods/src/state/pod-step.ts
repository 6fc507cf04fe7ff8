import type { BackendLimits } from "../backend/backend-limits.ts";
import type { PodIdentity } from "../backend/observation.ts";
import type { EndStep } from "../backend/remote-backend.ts";
import { earlierRuns } from "./earlier-runs.ts";
import { identityOf, type Deletion, type KnownObject, type PodState } from "./pod-state.ts";

/** What happened to a pod. Times are monotonic milliseconds. */
export type PodEvent<Remote, Memory> =
  /** A create is about to be sent. */
  | { readonly kind: "create"; readonly identity: PodIdentity }
  /** The back end has refused the create: there is no object. `retryAfterMs`: when the next one is sent, if the refusal tells. */
  | { readonly kind: "refused"; readonly retryAfterMs?: number | undefined }
  /** The create's outcome is unknown. */
  | { readonly kind: "unclear" }
  /** The object was created or described. */
  | { readonly kind: "seen"; readonly object: KnownObject<Remote, Memory> }
  /** The back end itself said that there is no object of this id; `undefined`: none of this pod. */
  | { readonly kind: "absent"; readonly id: string | undefined }
  /** The object was incomplete, and was removed. */
  | { readonly kind: "discarded"; readonly id: string }
  | { readonly kind: "delete"; readonly deadlineMs: number }
  | { readonly kind: "stepped"; readonly step: EndStep };

export interface StepContext {
  /** Monotonic milliseconds. */
  readonly nowMs: number;
  readonly limits: Pick<BackendLimits, "visibleAfterMs" | "keepsEndedMs">;
}

/** Interval between two answers that an object is missing, before its pod counts as gone. */
const confirmMissingMs = 1_000;
/** The same interval while reads may still lag behind the create, so that one that shows the object can precede one that does not. */
const confirmYoungMissingMs = 10_000;
/** Source: kubelet, `MaxContainerBackOff` and `backOffPeriod`. */
const firstBackOffMs = 10_000;
const longestBackOffMs = 300_000;
/** A run of this length resets the back-off. Source: kubelet, twice the longest back-off. */
const longRunMs = 2 * longestBackOffMs;

/** Next state of a pod; `undefined`: nothing is known of it. Pure. */
export function podStep<Remote, Memory>(
  state: PodState<Remote, Memory> | undefined,
  event: PodEvent<Remote, Memory>,
  context: StepContext,
): PodState<Remote, Memory> | undefined {
  switch (event.kind) {
    case "create":
      return onCreate(state, event.identity, context);
    case "refused":
      return onRefused(state, event.retryAfterMs, context);
    case "unclear":
      return state?.kind === "creating" ? { ...state, kind: "unclear", sinceMs: context.nowMs } : state;
    case "seen":
      return onSeen(state, event.object, context);
    case "absent":
      return onAbsent(state, event.id, context);
    case "discarded":
      return onDiscarded(state, event.id, context);
    case "delete":
      return onDelete(state, event.deadlineMs, context);
    case "stepped":
      return onStepped(state, event.step, context);
    default:
      return event satisfies never;
  }
}

function onCreate<Remote, Memory>(
  state: PodState<Remote, Memory> | undefined,
  identity: PodIdentity,
  { nowMs }: StepContext,
): PodState<Remote, Memory> {
  if (!state) return { kind: "creating", identity, sinceMs: nowMs };
  switch (state.kind) {
    case "waiting":
      return { kind: "creating", identity, sinceMs: nowMs, before: state.object };
    case "creating":
    case "unclear":
      return { kind: "creating", identity, sinceMs: nowMs, before: state.before };
    // The back end has lost the pod, and Kubernetes still wants it.
    case "gone":
      return { kind: "creating", identity, sinceMs: nowMs };
    default:
      return state;
  }
}

/** A pod whose next object was refused waits for another attempt, with its earlier object's end. */
function onRefused<Remote, Memory>(
  state: PodState<Remote, Memory> | undefined,
  retryAfterMs: number | undefined,
  { nowMs }: StepContext,
): PodState<Remote, Memory> | undefined {
  return state?.kind === "creating" ? withoutObject(state, nowMs + (retryAfterMs ?? longestBackOffMs)) : state;
}

/** State after a create of which nothing is left. */
function withoutObject<Remote, Memory>(
  { before }: Extract<PodState<Remote, Memory>, { kind: "creating" | "unclear" }>,
  atMs: number,
): PodState<Remote, Memory> | undefined {
  return before && { kind: "waiting", object: before, atMs };
}

function onSeen<Remote, Memory>(
  state: PodState<Remote, Memory> | undefined,
  seen: KnownObject<Remote, Memory>,
  context: StepContext,
): PodState<Remote, Memory> {
  if (state && seen.identity.attempt < identityOf(state).attempt) return state;
  switch (state?.kind) {
    case "gone":
      if (seen.id === state.keptId) return state;
      // The create came through after the pod had been deleted.
      return { kind: "deleting", identity: seen.identity, object: seen, deletion: newDeletion(context.nowMs, context.nowMs) };
    case "deleting":
      return onSeenDeleting(state, seen, context);
    case "waiting":
      return seen.id === state.object.id ? { ...state, object: joined(state.object, seen) } : settled(seen, undefined, context);
    case "ended":
      // An end is final, whatever a later answer says.
      return seen.id === state.object.id ? { ...state, isForgotten: false } : settled(seen, undefined, context);
    case "creating":
    case "unclear":
      return settled(replacing(state.before, seen), undefined, context);
    case "present":
    case "missing":
      return settled(joined(state.object, seen), state.object, context);
    case undefined:
      return settled(seen, undefined, context);
    default:
      return state satisfies never;
  }
}

/** The object that replaces an earlier one, of which only the last is kept. */
function replacing<Remote, Memory>(
  before: KnownObject<Remote, Memory> | undefined,
  seen: KnownObject<Remote, Memory>,
): KnownObject<Remote, Memory> {
  return before ? { ...seen, earlier: earlierRuns(before), before: { ...before, before: undefined } } : seen;
}

/** The description of a known object: how long it has been known, and its earlier runs, are kept. */
function joined<Remote, Memory>(known: KnownObject<Remote, Memory>, seen: KnownObject<Remote, Memory>): KnownObject<Remote, Memory> {
  if (known.id !== seen.id) return seen;
  const { observation = known.observation, remote = known.remote } = seen;
  // Before its first description, the containers of an object are not known.
  const earlier = known.earlier.size > 0 ? known.earlier : seen.earlier;
  const isVisible = known.isVisible || seen.isVisible;
  return { ...seen, observation, remote, sinceMs: known.sinceMs, isVisible, earlier, before: known.before };
}

function settled<Remote, Memory>(
  object: KnownObject<Remote, Memory>,
  known: KnownObject<Remote, Memory> | undefined,
  { nowMs }: StepContext,
): PodState<Remote, Memory> {
  const { observation, sinceMs, identity } = object;
  if (observation?.progress !== "ended") return { kind: "present", object };
  if (!observation.needsNewObject) return { kind: "ended", object, isForgotten: false };
  const ranMs = known ? nowMs - sinceMs : 0;
  const failures = ranMs >= longRunMs ? 0 : identity.attempt;
  return { kind: "waiting", object, atMs: nowMs + Math.min(firstBackOffMs * 2 ** Math.min(failures, 10), longestBackOffMs) };
}

function onSeenDeleting<Remote, Memory>(
  state: Extract<PodState<Remote, Memory>, { kind: "deleting" }>,
  seen: KnownObject<Remote, Memory>,
  { nowMs, limits }: StepContext,
): PodState<Remote, Memory> {
  const object = state.object ? joined(state.object, seen) : seen;
  // The back end removes an ended object by itself, later.
  if (limits.keepsEndedMs !== undefined && object.observation?.progress === "ended")
    return { kind: "gone", identity: object.identity, sinceMs: nowMs, keptId: object.id };
  // Nothing has been asked of another object yet.
  const { deadlineMs, sinceMs } = state.deletion;
  const isOther = state.object !== undefined && state.object.id !== object.id;
  const deletion = isOther ? { ...newDeletion(deadlineMs, nowMs), sinceMs } : state.deletion;
  return { ...state, identity: object.identity, object, deletion };
}

function onAbsent<Remote, Memory>(
  state: PodState<Remote, Memory> | undefined,
  id: string | undefined,
  { nowMs, limits }: StepContext,
): PodState<Remote, Memory> | undefined {
  const isYoung = ({ sinceMs }: KnownObject<Remote, Memory>): boolean => nowMs - sinceMs < limits.visibleAfterMs;
  switch (state?.kind) {
    case undefined:
    case "gone":
    case "creating":
    case "waiting":
      return state;
    case "unclear":
      if (nowMs - state.sinceMs < limits.visibleAfterMs) return state;
      return withoutObject(state, nowMs);
    case "present":
      if (state.object.id !== id || (isYoung(state.object) && !state.object.isVisible)) return state;
      return { kind: "missing", object: state.object, sinceMs: nowMs };
    case "missing":
      if (state.object.id !== id) return state;
      if (nowMs - state.sinceMs < (isYoung(state.object) ? confirmYoungMissingMs : confirmMissingMs)) return state;
      return { kind: "gone", identity: state.object.identity, sinceMs: nowMs };
    case "ended":
      return state.object.id === id ? { ...state, isForgotten: true } : state;
    case "deleting":
      return onAbsentDeleting(state, id, { nowMs, limits });
    default:
      return state satisfies never;
  }
}

function onAbsentDeleting<Remote, Memory>(
  state: Extract<PodState<Remote, Memory>, { kind: "deleting" }>,
  id: string | undefined,
  { nowMs, limits }: StepContext,
): PodState<Remote, Memory> {
  const { object, deletion, identity } = state;
  if (object && object.id !== id) return state;
  const isYoung = nowMs - (object?.sinceMs ?? deletion.sinceMs) < limits.visibleAfterMs;
  // A back end that has accepted the deletion of an object has seen it.
  return isYoung && !deletion.isDeleted ? state : { kind: "gone", identity, sinceMs: nowMs };
}

/** A pod whose next object was discarded waits for another one, with its earlier object's end. */
function onDiscarded<Remote, Memory>(
  state: PodState<Remote, Memory> | undefined,
  id: string,
  { nowMs }: StepContext,
): PodState<Remote, Memory> | undefined {
  const isItsOwn = state?.kind === "present" || state?.kind === "missing" || state?.kind === "ended" || state?.kind === "waiting";
  if (!isItsOwn || state.object.id !== id) return state;
  const { before } = state.object;
  return before && { kind: "waiting", object: before, atMs: nowMs };
}

function onDelete<Remote, Memory>(
  state: PodState<Remote, Memory> | undefined,
  deadlineMs: number,
  { nowMs, limits }: StepContext,
): PodState<Remote, Memory> | undefined {
  if (!state || state.kind === "gone") return state;
  const identity = identityOf(state);
  if (state.kind === "deleting") {
    const { deletion } = state;
    return { ...state, deletion: { ...deletion, deadlineMs: Math.min(deletion.deadlineMs, deadlineMs) } };
  }
  const hasEnded = state.kind === "ended" || state.kind === "waiting";
  if (hasEnded && (limits.keepsEndedMs !== undefined || (state.kind === "ended" && state.isForgotten)))
    return { kind: "gone", identity, sinceMs: nowMs, keptId: state.kind === "ended" && state.isForgotten ? undefined : state.object.id };
  const object = "object" in state ? state.object : undefined;
  return { kind: "deleting", identity, object, deletion: newDeletion(deadlineMs, nowMs) };
}

function newDeletion(deadlineMs: number, nowMs: number): Deletion {
  return { deadlineMs, sinceMs: nowMs, isAsked: false, killedAtMs: undefined, isDeleted: false };
}

function onStepped<Remote, Memory>(
  state: PodState<Remote, Memory> | undefined,
  step: EndStep,
  { nowMs }: StepContext,
): PodState<Remote, Memory> | undefined {
  if (state?.kind !== "deleting") return state;
  const { deletion } = state;
  switch (step) {
    case "asked":
      return { ...state, deletion: { ...deletion, isAsked: true } };
    case "killed":
      return { ...state, deletion: { ...deletion, isAsked: true, killedAtMs: nowMs, isDeleted: false } };
    case "deleted":
      return { ...state, deletion: { ...deletion, isAsked: true, isDeleted: true, deletedAtMs: nowMs } };
    case "wait":
      return state;
    default:
      return step satisfies never;
  }
}
