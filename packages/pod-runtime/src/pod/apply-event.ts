import type { ContainerRecord } from "./container-life.ts";
import { instanceOf, isLive, newContainer } from "./container-life.ts";
import { afterEnd, afterStart, beginStop, nowRunning, retryMs, stopEffect, warning, type ContainerContext } from "./container-step.ts";
import type { Instant } from "./instant.ts";
import type { PodEffect, Step } from "./pod-effect.ts";
import type { PodEvent } from "./pod-event.ts";
import { planPod, terminationGraceMs, type PlannedContainer } from "./pod-plan.ts";
import type { PodEnding, PodState } from "./pod-state.ts";
import { resizeEnded } from "./resize.ts";
import { kubeletBackoff, type BackoffLimits } from "./restart-backoff.ts";

/** What holds up a sandbox, a port that is taken, say, may go at any time. */
const sandboxBackoff: BackoffLimits = { initialMs: 10_000, maxMs: 60_000 };
/** A secret or config map that is missing is seen soon after it has come. */
const mountBackoff: BackoffLimits = { initialMs: 1_000, maxMs: 10_000 };

/** An event of one kind. */
type Of<Kind extends PodEvent["kind"]> = Extract<PodEvent, { readonly kind: Kind }>;

/** Notes what has happened. What follows from it is the affair of `settle`. */
export function applyEvent(state: PodState, event: PodEvent, now: Instant): Step<PodState> {
  switch (event.kind) {
    case "tick":
      return unchanged(state);
    case "updated":
      return unchanged(withPod(state, event));
    case "configurationChanged":
      return unchanged(hurried(state));
    case "deleted": {
      const ending = sooner(state.ending, { why: "deleted", deadlineMs: now.monotonicMs + event.graceMs });
      return unchanged({ ...state, isDeleted: true, ending });
    }
    case "failed": {
      const { reason, message } = event;
      const ending = sooner(state.ending, { why: "failed", deadlineMs: now.monotonicMs + event.graceMs, reason, message });
      return unchanged({ ...state, ending });
    }
    case "sandboxCreated":
    case "sandboxFailed":
    case "sandboxStopped":
    case "sandboxStopFailed":
    case "removed":
    case "removeFailed":
      return applyToStage(state, event, now);
    default:
      return applyToContainer(state, event, now);
  }
}

function unchanged(state: PodState): Step<PodState> {
  return { state, effects: [] };
}

/** The ending that was there, with the earlier of both deadlines. */
function sooner(held: PodEnding | undefined, wanted: PodEnding): PodEnding {
  return held ? { ...held, deadlineMs: Math.min(held.deadlineMs, wanted.deadlineMs) } : wanted;
}

function withPod(state: PodState, { pod }: Of<"updated">): PodState {
  const plan = planPod(pod);
  const before = new Map(state.plan.containers.map((planned) => [planned.name, planned.specHash]));
  const containers = plan.containers.map(({ name, specHash }): [string, ContainerRecord] => {
    const held = state.containers.get(name) ?? newContainer;
    // A change of resources that has failed may go well now.
    const record = held.resize?.retryAtMs === undefined ? held : { ...held, resize: undefined };
    if (before.get(name) === specHash) return [name, record];
    const isBegun = record.life.kind === "waiting" || record.life.kind === "pulling";
    return [name, { ...record, crashBackoff: undefined, pullBackoff: undefined, life: isBegun ? { kind: "idle" } : record.life }];
  });
  return { ...state, plan, containers: new Map(containers) };
}

/** Ends the waits that a change of the configuration may have made needless. */
function hurried(state: PodState): PodState {
  const containers = [...state.containers].map(([name, record]): [string, ContainerRecord] => {
    const isWaiting = record.life.kind === "waiting" && record.life.reason === "CreateContainerConfigError";
    return [name, isWaiting ? { ...record, life: { kind: "idle" } } : record];
  });
  return { ...state, containers: new Map(containers) };
}

function applyToStage(
  state: PodState,
  event: Of<"sandboxCreated" | "sandboxFailed" | "sandboxStopped" | "sandboxStopFailed" | "removed" | "removeFailed">,
  now: Instant,
): Step<PodState> {
  const { stage } = state;
  const isAwaited = "attempt" in event && stage.kind === "creatingSandbox" && stage.attempt === event.attempt;
  switch (event.kind) {
    case "sandboxCreated":
      if (isAwaited) return unchanged({ ...state, deadSandboxes: [], stage: { kind: "up", sandboxId: event.sandboxId, ips: event.ips } });
      return {
        state,
        effects: "sandboxId" in stage && stage.sandboxId === event.sandboxId ? [] : [{ kind: "stopSandbox", sandboxId: event.sandboxId }],
      };
    case "sandboxFailed":
      return isAwaited ? sandboxFailed(state, stage.failures + 1, event, now) : unchanged(state);
    case "sandboxStopped":
      if (!("sandboxId" in stage) || stage.sandboxId !== event.sandboxId) return unchanged(state);
      return stage.kind === "up" ? sandboxLost(state, stage.sandboxId, now) : unchanged({ ...state, stage: { kind: "finished" } });
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

function sandboxFailed(state: PodState, failures: number, { reason, message }: Of<"sandboxFailed">, now: Instant): Step<PodState> {
  const { initialMs, maxMs } = reason === "FailedCreatePodSandBox" ? sandboxBackoff : mountBackoff;
  const delayMs = Math.min(maxMs, initialMs * 2 ** (failures - 1));
  const told = reason === "FailedCreatePodSandBox" ? `Failed to create pod sandbox: ${message}` : message;
  return {
    state: { ...state, stage: { kind: "sandboxFailed", failures, untilMs: now.monotonicMs + delayMs, message } },
    effects: reason === undefined ? [] : [warning(reason, told)],
  };
}

/** With its sandbox all that ran has ended, and the init containers have to run again. */
function sandboxLost(state: PodState, sandboxId: string, now: Instant): Step<PodState> {
  const isEnding = state.ending !== undefined;
  const effects: PodEffect[] = [];
  if (!isEnding) {
    const message = "Pod sandbox changed, it will be killed and re-created.";
    effects.push({ kind: "event", type: "Normal", reason: "SandboxChanged", message });
  }
  const containers = new Map(state.containers);
  for (const planned of state.plan.containers) {
    const { unbegun, ...held } = containers.get(planned.name) ?? newContainer;
    const record = { ...held, attempt: Math.max(held.attempt, unbegun ?? -1) };
    const ended = endedWithSandbox(record, { plan: state.plan, planned, now, isEnding });
    effects.push(...ended.effects);
    const isInit = planned.role === "init" || planned.role === "sidecar";
    const runsAgain = isInit && !isEnding && ended.state.isInitialized && ended.state.life.kind === "ended";
    containers.set(planned.name, {
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

type InstanceEvent = Of<"exited" | "stopFailed" | "resized" | "resizeFailed" | "hookEnded" | "probed">;
type ContainerEvent = InstanceEvent | Of<"imageReady" | "imageFailed" | "started" | "startFailed">;

function applyToContainer(state: PodState, event: ContainerEvent, now: Instant): Step<PodState> {
  const planned = state.plan.containers.find(({ name }) => name === event.container);
  const record = state.containers.get(event.container);
  if (!planned || !record) return { state, effects: event.kind === "started" ? [{ kind: "removeContainer", id: event.id }] : [] };
  const context = { plan: state.plan, planned, now, isEnding: state.ending !== undefined };
  const step = containerStep(record, event, { ...context, stage: state.stage });
  return { state: { ...state, containers: new Map(state.containers).set(planned.name, step.state) }, effects: step.effects };
}

type StagedContext = ContainerContext & Pick<PodState, "stage">;

function containerStep(record: ContainerRecord, event: ContainerEvent, context: StagedContext): Step<ContainerRecord> {
  switch (event.kind) {
    case "imageReady":
      return imageReady(record, event, context);
    case "imageFailed":
      return imageFailed(record, event, context);
    case "started":
      if (record.life.kind !== "starting" || record.attempt !== event.attempt) {
        const isKnown = instanceOf(record.life)?.id === event.id;
        return { state: record, effects: isKnown ? [] : [{ kind: "removeContainer", id: event.id }] };
      }
      return afterStart({ ...record, user: event.user }, { id: event.id, startedAtMs: event.startedAtMs }, context);
    case "startFailed":
      return startFailed(record, event, context);
    default:
      return instanceStep(record, event, context);
  }
}

function imageReady(record: ContainerRecord, event: Of<"imageReady">, { planned, stage }: StagedContext): Step<ContainerRecord> {
  if (record.life.kind !== "pulling" || event.specHash !== planned.specHash || stage.kind !== "up") return { state: record, effects: [] };
  const attempt = record.attempt + 1;
  const { specHash, name, container } = planned;
  const { resources } = container;
  return {
    state: {
      ...record,
      life: { kind: "starting" },
      attempt,
      unbegun: undefined,
      specHash,
      image: event.image,
      resources,
      resize: undefined,
      pullBackoff: undefined,
    },
    effects: [{ kind: "startContainer", sandboxId: stage.sandboxId, container: name, attempt, specHash }],
  };
}

function imageFailed(record: ContainerRecord, event: Of<"imageFailed">, { planned, now }: StagedContext): Step<ContainerRecord> {
  if (record.life.kind !== "pulling" || event.specHash !== planned.specHash) return { state: record, effects: [] };
  const { initialMs, maxMs } = kubeletBackoff;
  const isPull = event.reason === "ErrImagePull";
  const delayMs = isPull ? (record.pullBackoff?.delayMs ?? initialMs) : retryMs;
  const { reason, message } = event;
  const sinceMs = now.monotonicMs;
  return {
    state: {
      ...record,
      life: { kind: "waiting", reason, message, sinceMs, untilMs: sinceMs + delayMs },
      pullBackoff: { delayMs: Math.min(maxMs, delayMs * 2), usedAtMs: sinceMs },
    },
    effects: [imageWarning(planned, reason, message), warning("Failed", `Error: ${reason}`, planned)],
  };
}

/** Source: EnsureImageExists in kubernetes v1.36.3 pkg/kubelet/images/image_manager.go. */
function imageWarning(planned: PlannedContainer, reason: string, message: string): PodEffect {
  if (reason === "ErrImagePull") return warning("Failed", `Failed to pull image "${planned.container.image}": ${message}`, planned);
  return warning(reason === "ErrImageNeverPull" ? reason : "InspectFailed", message, planned);
}

function startFailed(record: ContainerRecord, event: Of<"startFailed">, context: StagedContext): Step<ContainerRecord> {
  if (record.life.kind !== "starting" || record.attempt !== event.attempt) return { state: record, effects: [] };
  const { planned, now } = context;
  const { reason, message } = event;
  const effects = [warning("Failed", `Error: ${message}`, planned)];
  const waiting = { kind: "waiting", reason, message, sinceMs: now.monotonicMs, untilMs: now.monotonicMs + retryMs } as const;
  // Nothing was made, or nobody knows whether it runs: the next try is the same attempt.
  if (event.id === undefined) {
    const unbegun = reason === "CreateContainerConfigError" ? undefined : record.attempt;
    return { state: { ...record, attempt: record.attempt - 1, unbegun, life: waiting }, effects };
  }
  const termination = { exitCode: event.exitCode ?? 128, reason: "StartError", message, finishedAtMs: now.wallMs, id: event.id };
  const ended = afterEnd(record, termination, context);
  const life = ended.state.life.kind === "idle" ? waiting : ended.state.life;
  return { state: { ...ended.state, life }, effects: [...effects, ...ended.effects] };
}

function instanceStep(record: ContainerRecord, event: InstanceEvent, context: ContainerContext): Step<ContainerRecord> {
  const { life } = record;
  if (!isLive(life) || instanceOf(life)?.id !== event.id) return { state: record, effects: [] };
  switch (event.kind) {
    case "exited":
      return afterEnd(record, event.termination, context);
    case "stopFailed": {
      const retryAtMs = context.now.monotonicMs + retryMs;
      return { state: life.kind === "stopping" ? { ...record, life: { ...life, retryAtMs } } : record, effects: [] };
    }
    case "resized":
    case "resizeFailed":
      return resizeEnded(record, event, context);
    case "hookEnded":
      return hookEnded(record, event, context);
    case "probed":
      return probed(record, event, context);
    default:
      event satisfies never;
      return { state: record, effects: [] };
  }
}

function hookEnded(record: ContainerRecord, event: Of<"hookEnded">, context: ContainerContext): Step<ContainerRecord> {
  const { life } = record;
  const { planned, now } = context;
  if (event.hook === "preStop" && life.kind === "preStop") {
    const failed = event.error === undefined ? [] : [warning("FailedPreStopHook", `PreStopHook failed: ${event.error}`, planned)];
    return { state: { ...record, life: { ...life, kind: "stopping" } }, effects: [...failed, stopEffect(planned, life, now)] };
  }
  if (event.hook !== "postStart" || life.kind !== "postStart") return { state: record, effects: [] };
  if (event.error === undefined) return { state: nowRunning(record, life.instance, planned), effects: [] };
  const stop = beginStop(record, stopWish("postStart", "FailedPostStartHook", context), context);
  return { state: stop.state, effects: [warning("FailedPostStartHook", `PostStartHook failed: ${event.error}`, planned), ...stop.effects] };
}

function probed(record: ContainerRecord, event: Of<"probed">, context: ContainerContext): Step<ContainerRecord> {
  const { life } = record;
  const { planned } = context;
  if (life.kind !== "running" && life.kind !== "preStop" && life.kind !== "stopping") return { state: record, effects: [] };
  if (event.probe === "readiness") {
    return { state: { ...record, life: { ...life, isReady: event.isSuccess && life.isStarted } }, effects: [] };
  }
  if (life.kind !== "running") return { state: record, effects: [] };
  if (!event.isSuccess) {
    const message = `Container ${planned.name} failed ${event.probe} probe, will be restarted`;
    return beginStop(record, stopWish(event.probe, message, context), context);
  }
  if (event.probe === "liveness" || life.isStarted) return { state: record, effects: [] };
  const isReady = planned.container.readinessProbe === undefined;
  const isInitialized = record.isInitialized || planned.role === "sidecar";
  return { state: { ...record, isInitialized, life: { ...life, isStarted: true, isReady } }, effects: [] };
}

function stopWish(
  why: "liveness" | "startup" | "postStart",
  message: string,
  { plan, planned, now }: ContainerContext,
): { why: typeof why; message: string; deadlineMs: number } {
  return { why, message, deadlineMs: now.monotonicMs + probeGraceMs(planned, why, terminationGraceMs(plan.pod)) };
}

function probeGraceMs({ container }: PlannedContainer, why: string, defaultMs: number): number {
  const probe = why === "liveness" ? container.livenessProbe : why === "startup" ? container.startupProbe : undefined;
  return probe?.terminationGracePeriodSeconds === undefined ? defaultMs : probe.terminationGracePeriodSeconds * 1000;
}
