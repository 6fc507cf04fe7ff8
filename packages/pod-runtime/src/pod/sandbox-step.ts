import { instanceOf, newContainer, type ContainerRecord } from "./container-life.ts";
import { afterEnd, retryMs, warning, type ContainerContext } from "./container-step.ts";
import type { Instant } from "./instant.ts";
import type { PodEffect, Step } from "./pod-effect.ts";
import type { PodEvent } from "./pod-event.ts";
import type { PodState } from "./pod-state.ts";
import type { BackoffLimits } from "./restart-backoff.ts";

/** The cause of a failure, such as a port in use, may disappear at any time. */
const sandboxBackoff: BackoffLimits = { initialMs: 10_000, maxMs: 60_000 };
/** Short, so that a secret or config map that was missing is noticed soon. */
const mountBackoff: BackoffLimits = { initialMs: 1_000, maxMs: 10_000 };

export type SandboxEvent = Extract<
  PodEvent,
  { readonly kind: "sandboxCreated" | "sandboxFailed" | "sandboxStopped" | "sandboxStopFailed" | "removed" | "removeFailed" }
>;

/** Records an event of the pod's sandbox, or of the pod's remains. */
export function sandboxStep(state: PodState, event: SandboxEvent, now: Instant): Step<PodState> {
  const { stage } = state;
  const isAwaited = "attempt" in event && stage.kind === "creatingSandbox" && stage.attempt === event.attempt;
  switch (event.kind) {
    case "sandboxCreated":
      if (isAwaited)
        return unchanged({
          ...withBegun(state, event),
          deadSandboxes: [],
          stage: { kind: "up", sandboxId: event.sandboxId, ips: event.ips },
        });
      return {
        state,
        effects: "sandboxId" in stage && stage.sandboxId === event.sandboxId ? [] : [{ kind: "stopSandbox", sandboxId: event.sandboxId }],
      };
    case "sandboxFailed":
      return isAwaited ? sandboxFailed({ ...state, stage }, event, now) : unchanged(state);
    case "sandboxStopped":
      if (!("sandboxId" in stage) || stage.sandboxId !== event.sandboxId) return unchanged(state);
      return stage.kind === "up"
        ? sandboxLost(state, stage.sandboxId, now)
        : unchanged({ ...state, stage: { kind: "noSandbox", failures: 0 } });
    case "sandboxStopFailed":
      if (stage.kind !== "stoppingSandbox" || stage.sandboxId !== event.sandboxId) return unchanged(state);
      return unchanged({ ...state, stage: { ...stage, untilMs: now.monotonicMs + retryMs } });
    case "removed":
      return unchanged(stage.kind === "removing" ? { ...state, stage: { kind: "gone" } } : state);
    case "removeFailed":
      return unchanged(stage.kind === "removing" ? { ...state, stage: { kind: "removing", untilMs: now.monotonicMs + retryMs } } : state);
    default:
      event satisfies never;
      return unchanged(state);
  }
}

/** Attempts that were started in an earlier sandbox without a report count; attempts that were only created there do not. */
function withBegun(state: PodState, { begun }: Extract<PodEvent, { readonly kind: "sandboxCreated" }>): PodState {
  const containers = [...state.containers].map(([name, { unbegun, ...record }]): [string, ContainerRecord] => [
    name,
    unbegun === undefined ? record : { ...record, attempt: Math.max(record.attempt, begun?.get(name) ?? -1) },
  ]);
  return { ...state, containers: new Map(containers) };
}

function sandboxFailed(
  { stage, ...state }: PodState & { readonly stage: Extract<PodState["stage"], { readonly kind: "creatingSandbox" }> },
  { reason, message }: Extract<PodEvent, { readonly kind: "sandboxFailed" }>,
  now: Instant,
): Step<PodState> {
  const isForMounts = reason !== "FailedCreatePodSandBox";
  const failures = stage.failures + 1;
  const { initialMs, maxMs } = isForMounts ? mountBackoff : sandboxBackoff;
  const delayMs = isForMounts && stage.hasNewConfig ? 0 : Math.min(maxMs, initialMs * 2 ** (failures - 1));
  const told = isForMounts ? message : `Failed to create pod sandbox: ${message}`;
  return {
    state: { ...state, stage: { kind: "sandboxFailed", isForMounts, failures, untilMs: now.monotonicMs + delayMs, message } },
    effects: reason === undefined ? [] : [warning(reason, told)],
  };
}

/** Everything that ran has ended with its sandbox, and the init containers have to run again. */
function sandboxLost(state: PodState, sandboxId: string, now: Instant): Step<PodState> {
  const isEnding = state.ending !== undefined;
  const effects: PodEffect[] = [];
  if (!isEnding) {
    const message = "Pod sandbox changed, it will be killed and re-created.";
    effects.push({ kind: "event", type: "Normal", reason: "SandboxChanged", message });
  }
  const containers = new Map(state.containers);
  for (const desired of state.desired.containers) {
    const record = containers.get(desired.name) ?? newContainer;
    const ended = endedWithSandbox(record, { desiredPod: state.desired, desired, now, isEnding });
    effects.push(...ended.effects);
    const isInit = desired.role === "init" || desired.role === "sidecar";
    const runsAgain = isInit && !isEnding && ended.state.isInitialized && ended.state.life.kind === "ended";
    containers.set(desired.name, {
      ...ended.state,
      isInitialized: isInit && !isEnding ? false : ended.state.isInitialized,
      life: runsAgain ? { kind: "idle" } : ended.state.life,
    });
  }
  return { state: { ...state, containers, deadSandboxes: [sandboxId], stage: { kind: "noSandbox", failures: 0 } }, effects };
}

function endedWithSandbox(record: ContainerRecord, context: ContainerContext): Step<ContainerRecord> {
  const { life } = record;
  if (life.kind === "pulling" || life.kind === "starting") return { state: { ...record, life: { kind: "idle" } }, effects: [] };
  const instance = instanceOf(life);
  if (!instance) return { state: record, effects: [] };
  const termination = {
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "The container was lost with the pod's sandbox",
    startedAtMs: instance.startedAtMs,
    finishedAtMs: context.now.wallMs,
    id: instance.id,
  };
  return afterEnd(record, termination, context);
}

function unchanged(state: PodState): Step<PodState> {
  return { state, effects: [] };
}
