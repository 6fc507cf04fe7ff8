import type { Random } from "@virtual-kubelet/clock";
import { apiError } from "../errors/api-error.ts";
import { backoffMs, type Backoff } from "../work-queue/backoff.ts";
import type { WatchEvent } from "../rest/client.ts";
import type { KubernetesObject } from "../rest/objects.ts";
import {
  failureOf,
  type Failure,
  type ReflectorEffect,
  type ReflectorInput,
  type ReflectorMemory,
  type ReflectorPhase,
  type ReflectorState,
} from "./reflector-state.ts";

/** Source: client-go `tools/cache/reflector.go`. */
const backoff: Backoff = { initialMs: 800, maxMs: 30_000 };
const healthyMs = 120_000;
const shortWatchMs = 1_000;
/** Maximum Retry-After that is respected. */
const maxRetryAfterMs = 60_000;
/** Number of incomplete streamed lists before lists are paged, because a server may never send the bookmark (kubernetes#140902). */
const maxStreamsLost = 3;
/** Number of unreadable watches from one version before a new list, so that a bad line cannot block the reflector forever. */
const maxUnreadable = 3;

/** Inputs of a step besides state and event. */
export interface StepContext {
  /** Monotonic milliseconds. */
  readonly nowMs: number;
  readonly random: Random;
}

/** Result of a step. */
export interface StepResult<T> {
  readonly state: ReflectorState;
  /** Applied in order. */
  readonly effects: readonly ReflectorEffect<T>[];
}

/** Returns the reflector's next state. Pure except for the random number in a wait. */
export function step<T extends KubernetesObject>(state: ReflectorState, input: ReflectorInput<T>, context: StepContext): StepResult<T> {
  const { phase, memory } = state;
  switch (phase.kind) {
    case "starting":
      if (input.kind === "opened") return go(memory, { kind: "streaming" }, [{ kind: "clear" }]);
      return onStartFailure(memory, failureIn(input), context);
    case "streaming":
      if (input.kind === "event" && input.event.type !== "ERROR") return onInitialEvent(state, input.event);
      return onStreamLost(memory, failureIn(input), context);
    case "listing":
      if (input.kind === "page") return onPage(memory, phase, input);
      return onListFailure(memory, phase, failureIn(input), context);
    case "listed":
      if (input.kind === "opened") return go(memory, { kind: "watching", resourceVersion: phase.resourceVersion, silent: true });
      return onWatchFailure(memory, phase.resourceVersion, failureIn(input), context);
    case "watching":
      if (input.kind === "event" && input.event.type !== "ERROR") return onEvent(memory, phase, input.event);
      if (input.kind === "ended" && !(phase.silent && input.openMs < shortWatchMs)) {
        return go(memory, { kind: "listed", resourceVersion: phase.resourceVersion });
      }
      return onWatchFailure(memory, phase.resourceVersion, failureIn(input), context);
    case "waiting":
      return go(memory, phase.next);
    default:
      return phase satisfies never;
  }
}

type ObjectEvent<T> = Exclude<WatchEvent<T>, { type: "ERROR" }>;

function onStartFailure<T>(memory: ReflectorMemory, failure: Failure, context: StepContext): StepResult<T> {
  if (failure.kind === "refused") return go({ ...memory, streamsLost: "refused" }, firstPage(true), [{ kind: "clear" }]);
  return wait(memory, { kind: "starting" }, failure, context);
}

function onInitialEvent<T extends KubernetesObject>(state: ReflectorState, event: ObjectEvent<T>): StepResult<T> {
  if (event.type !== "BOOKMARK") {
    return { state, effects: [{ kind: "collect", type: event.type === "DELETED" ? "remove" : "put", objects: [event.object] }] };
  }
  // No earlier version allows a resume, because the initial objects are not ordered by version.
  if (event.object.metadata?.annotations?.["k8s.io/initial-events-end"] !== "true") return { state, effects: [] };
  const memory: ReflectorMemory = { ...state.memory, streamsLost: 0, unreadable: 0 };
  return go(memory, { kind: "watching", resourceVersion: versionOf(event.object, ""), silent: false }, [
    { kind: "replace", list: "streamed" },
  ]);
}

function onStreamLost<T>(memory: ReflectorMemory, failure: Failure, context: StepContext): StepResult<T> {
  const streamsLost = memory.streamsLost === "refused" || failure.kind === "refused" ? "refused" : memory.streamsLost + 1;
  const after: ReflectorMemory = { ...memory, streamsLost };
  return wait(after, listAnew(after), failure, context, [{ kind: "clear" }]);
}

function onPage<T extends KubernetesObject>(
  memory: ReflectorMemory,
  phase: ReflectorPhase & { readonly kind: "listing" },
  page: ReflectorInput<T> & { readonly kind: "page" },
): StepResult<T> {
  const collect: ReflectorEffect<T> = { kind: "collect", type: "put", objects: page.objects };
  const resourceVersion = phase.resourceVersion ?? page.resourceVersion;
  if (page.continue !== undefined) return go(memory, { ...phase, continue: page.continue, resourceVersion }, [collect]);
  const listed: ReflectorPhase = { kind: "listed", resourceVersion };
  return go({ ...memory, unreadable: 0 }, listed, [collect, { kind: "replace", list: "paged" }]);
}

function onListFailure<T>(
  memory: ReflectorMemory,
  phase: ReflectorPhase & { readonly kind: "listing" },
  failure: Failure,
  context: StepContext,
): StepResult<T> {
  if (failure.kind === "other") return wait(memory, phase, failure, context);
  // Paging may take longer than the server keeps the version; a single answer cannot. Source: client-go `tools/pager`.
  return wait(memory, firstPage(failure.kind !== "gone"), failure, context, [{ kind: "clear" }]);
}

function onEvent<T extends KubernetesObject>(
  memory: ReflectorMemory,
  phase: ReflectorPhase & { readonly kind: "watching" },
  { type, object }: ObjectEvent<T>,
): StepResult<T> {
  const resourceVersion = versionOf(object, phase.resourceVersion);
  // A bookmark is not progress: a server that repeatedly sends one and ends the watch would otherwise be asked without a pause.
  const silent = phase.silent && (type === "BOOKMARK" || resourceVersion === phase.resourceVersion);
  const after = memory.unreadable === 0 ? memory : { ...memory, unreadable: 0 };
  const effects: ReflectorEffect<T>[] = type === "BOOKMARK" ? [] : [{ kind: "apply", type: type === "DELETED" ? "remove" : "put", object }];
  return go(after, { kind: "watching", resourceVersion, silent }, effects);
}

function onWatchFailure<T>(memory: ReflectorMemory, resourceVersion: string, failure: Failure, context: StepContext): StepResult<T> {
  const after: ReflectorMemory = { ...memory, unreadable: failure.kind === "unreadable" ? memory.unreadable + 1 : memory.unreadable };
  const isLost = failure.kind === "gone" || failure.kind === "ahead" || failure.kind === "refused" || after.unreadable >= maxUnreadable;
  return wait(after, isLost ? listAnew(after) : { kind: "listed", resourceVersion }, failure, context, isLost ? [{ kind: "clear" }] : []);
}

function listAnew({ streamsLost }: ReflectorMemory): ReflectorPhase {
  return streamsLost === "refused" || streamsLost >= maxStreamsLost ? firstPage(true) : { kind: "starting" };
}

function firstPage(paged: boolean): ReflectorPhase {
  return { kind: "listing", continue: undefined, paged };
}

function go<T>(memory: ReflectorMemory, phase: ReflectorPhase, effects: readonly ReflectorEffect<T>[] = []): StepResult<T> {
  return { state: { phase, memory }, effects };
}

function wait<T>(
  memory: ReflectorMemory,
  next: ReflectorPhase,
  failure: Failure,
  { nowMs, random }: StepContext,
  effects: readonly ReflectorEffect<T>[] = [],
): StepResult<T> {
  const isAnswered = failure.kind === "gone" && memory.failedKind !== "gone";
  const isAnotherTrouble = memory.failures === 0 || isAnswered || nowMs - memory.failedMs > healthyMs;
  const failures = isAnotherTrouble ? 1 : memory.failures + 1;
  const askedMs = Math.min(failure.retryAfterMs ?? 0, maxRetryAfterMs) * (1 + 0.1 * random.next());
  const delayMs = Math.max(askedMs, backoffMs(backoff, failures, random));
  return {
    state: {
      phase: { kind: "waiting", delayMs, attempt: failures, failure, next },
      memory: { ...memory, failures, failedMs: nowMs, failedKind: failure.kind },
    },
    effects,
  };
}

/** Returns the failure for an event that the phase does not expect. */
function failureIn<T>(input: ReflectorInput<T>): Failure {
  if (input.kind === "failed") return input.failure;
  if (input.kind === "event" && input.event.type === "ERROR") {
    const { object } = input.event;
    return failureOf(apiError({ operation: "watch", code: object.code ?? 500, body: { kind: "Status", ...object } }));
  }
  return { kind: "short", error: new Error("the server ended the watch before it had brought an object"), retryAfterMs: undefined };
}

function versionOf(object: KubernetesObject, fallback: string): string {
  return object.metadata?.resourceVersion ?? fallback;
}
