import { standingAfter } from "../probe/probe-standing.ts";
import { killMessage } from "../probe/probe-words.ts";
import { withFreedPorts, withNewConfig, withPod } from "./changed-pod.ts";
import { instanceOf, isLive, type ContainerRecord } from "./container-life.ts";
import {
  afterEnd,
  afterStart,
  beginStop,
  nowRunning,
  restartsAfterProbe,
  retryMs,
  warning,
  type ContainerContext,
} from "./container-step.ts";
import { imageFailureEvent } from "./image-failure.ts";
import type { Instant } from "./instant.ts";
import type { Step } from "./pod-effect.ts";
import type { PodEvent } from "./pod-event.ts";
import { terminationGraceMs, type DesiredContainer } from "./desired-pod.ts";
import { podName } from "./pod-name.ts";
import type { PodEnding, PodState } from "./pod-state.ts";
import { resizeEnded } from "./resize.ts";
import { kubeletBackoff } from "./restart-backoff.ts";
import { sandboxStep } from "./sandbox-step.ts";
import { wholeStepEnded } from "./whole-pod.ts";

type Of<Kind extends PodEvent["kind"]> = Extract<PodEvent, { readonly kind: Kind }>;

/** Records an event in the state. `settle` decides what to do about it. */
export function applyEvent(state: PodState, event: PodEvent, now: Instant): Step<PodState> {
  switch (event.kind) {
    case "tick":
      return unchanged(state);
    case "configChanged":
      return unchanged(withNewConfig(state, now));
    case "updated":
      // Like a kubelet, retries what was missing when the pod changes.
      return unchanged(withNewConfig(withPod(state, event.pod), now));
    case "deleted": {
      const ending = sooner(state.ending, { why: "deleted", deadlineMs: now.monotonicMs + event.graceMs });
      return unchanged({ ...state, isDeleted: true, ending });
    }
    case "failed": {
      const { reason, message, isDisruption } = event;
      const deadlineMs = now.monotonicMs + event.graceMs;
      const ending = sooner(state.ending, { why: "failed", deadlineMs, reason, message, ...(isDisruption && { isDisruption }) });
      return unchanged({ ...state, ending });
    }
    case "podGrown":
    case "podFitted":
    case "podFitFailed": {
      if (!("sandboxId" in state.stage) || state.stage.sandboxId !== event.sandboxId) return unchanged(state);
      const { state: whole, effects } = wholeStepEnded(state.whole, event, now);
      return { state: { ...state, whole }, effects };
    }
    case "portsFreed":
      return unchanged(withFreedPorts(state, now));
    case "sandboxCreated":
    case "sandboxFailed":
    case "sandboxStopped":
    case "sandboxStopFailed":
    case "removed":
    case "removeFailed":
      return sandboxStep(state, event, now);
    default:
      return applyToContainer(state, event, now);
  }
}

function unchanged(state: PodState): Step<PodState> {
  return { state, effects: [] };
}

/** The ending with the earlier of both deadlines. An ending that has started keeps its reason. */
function sooner(held: PodEnding | undefined, wanted: PodEnding): PodEnding {
  return held ? { ...held, deadlineMs: Math.min(held.deadlineMs, wanted.deadlineMs) } : wanted;
}

type InstanceEvent = Of<"exited" | "stopFailed" | "resized" | "resizeFailed" | "hookEnded" | "probed">;
type ContainerEvent = InstanceEvent | Of<"imageReady" | "imageFailed" | "started" | "startFailed">;

function applyToContainer(state: PodState, event: ContainerEvent, now: Instant): Step<PodState> {
  const desired = state.desired.containers.find(({ name }) => name === event.container);
  const record = state.containers.get(event.container);
  if (!desired || !record) return { state, effects: event.kind === "started" ? [{ kind: "removeContainer", id: event.id }] : [] };
  const context = { desiredPod: state.desired, desired, now, isEnding: state.ending !== undefined };
  const step = containerStep(record, event, { ...context, stage: state.stage });
  return { state: { ...state, containers: new Map(state.containers).set(desired.name, step.state) }, effects: step.effects };
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

function imageReady(record: ContainerRecord, event: Of<"imageReady">, { desired, stage }: StagedContext): Step<ContainerRecord> {
  if (record.life.kind !== "pulling" || event.specHash !== desired.specHash || stage.kind !== "up") return { state: record, effects: [] };
  const attempt = record.attempt + 1;
  const { specHash, name, container, effective } = desired;
  const { resources } = container;
  return {
    state: {
      ...record,
      life: { kind: "starting" },
      attempt,
      unbegun: undefined,
      specHash,
      image: event.image,
      volumeImages: event.volumeImages,
      resources,
      effective,
      resize: undefined,
      pullBackoff: undefined,
    },
    effects: [{ kind: "startContainer", sandboxId: stage.sandboxId, container: name, attempt, specHash }],
  };
}

function imageFailed(record: ContainerRecord, event: Of<"imageFailed">, { desired, now }: StagedContext): Step<ContainerRecord> {
  if (record.life.kind !== "pulling" || event.specHash !== desired.specHash) return { state: record, effects: [] };
  const { initialMs, maxMs } = kubeletBackoff;
  const isPull = event.reason === "ErrImagePull";
  const delayMs = isPull ? (record.pullBackoff?.delayMs ?? initialMs) : retryMs;
  const { reason, message, volumeImage } = event;
  const sinceMs = now.monotonicMs;
  const { reason: toldReason, message: told } = imageFailureEvent(desired.container.image ?? "", event);
  return {
    state: {
      ...record,
      life: { kind: "waiting", reason, message, volumeImage, sinceMs, untilMs: sinceMs + delayMs },
      pullBackoff: { delayMs: Math.min(maxMs, delayMs * 2), usedAtMs: sinceMs },
    },
    effects: volumeImage === undefined ? [warning(toldReason, told, desired), warning("Failed", `Error: ${reason}`, desired)] : [],
  };
}

function startFailed(record: ContainerRecord, event: Of<"startFailed">, context: StagedContext): Step<ContainerRecord> {
  if (record.life.kind !== "starting" || record.attempt !== event.attempt) return { state: record, effects: [] };
  const { desired, now } = context;
  const { reason, message } = event;
  const effects = [warning("Failed", `Error: ${message}`, desired)];
  const mayGoWell = reason === "CreateContainerConfigError" && record.life.hasNewConfig;
  const sinceMs = now.monotonicMs;
  const waiting = { kind: "waiting", reason, message, sinceMs, untilMs: sinceMs + (mayGoWell ? 0 : retryMs) } as const;
  // No container was created, or its start is unclear: the next try keeps the attempt's number.
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
  const { desired } = context;
  if (event.hook === "preStop" && life.kind === "preStop") {
    const failed = event.error === undefined ? [] : [warning("FailedPreStopHook", "PreStopHook failed", desired)];
    return { state: { ...record, life: { ...life, isHookOver: true } }, effects: failed };
  }
  if (event.hook !== "postStart" || life.kind !== "postStart") return { state: record, effects: [] };
  if (event.error === undefined) return { state: nowRunning(record, life.instance, desired), effects: [] };
  const trouble = { reason: "PostStartHookError", message: hookFailure(event.error, context) };
  const stop = beginStop({ ...record, trouble }, stopWish("postStart", "FailedPostStartHook", context), context);
  // The hook's output may contain secrets. Like a kubelet's, the event leaves it out.
  return { state: stop.state, effects: [warning("FailedPostStartHook", "PostStartHook failed", desired), ...stop.effects] };
}

/**
 * Status message of a container whose postStart hook failed. Source: HandlerRunner.Run in kubernetes v1.36.3
 * pkg/kubelet/lifecycle/handlers.go.
 */
function hookFailure(error: string, { desiredPod, desired: { name, container } }: ContainerContext): string {
  const { exec, httpGet, sleep } = container.lifecycle?.postStart ?? {};
  const what = exec
    ? `Exec lifecycle hook ([${exec.command?.join(" ") ?? ""}])`
    : httpGet
      ? `HTTP lifecycle hook (${httpGet.path ?? ""})`
      : `Sleep lifecycle hook (${sleep?.seconds ?? 0})`;
  return `${what} for Container "${name}" in Pod "${podName(desiredPod.pod)}" failed - error: ${error}`;
}

function probed(record: ContainerRecord, event: Of<"probed">, context: ContainerContext): Step<ContainerRecord> {
  const { life } = record;
  const { desired } = context;
  if (life.kind !== "running" && life.kind !== "preStop" && life.kind !== "stopping") return { state: record, effects: [] };
  if (event.probe !== "readiness" && life.kind !== "running") return { state: record, effects: [] };
  const standing = standingAfter(life, desired.container, { kind: event.probe, isSuccess: event.isSuccess });
  if (!standing) {
    const about = { name: desired.name, isSidecar: desired.role === "sidecar", isRestarted: restartsAfterProbe(context) };
    return beginStop(
      record,
      stopWish(event.probe === "startup" ? "startup" : "liveness", killMessage(about, event.probe), context),
      context,
    );
  }
  const { isStarted, isReady } = standing;
  if (isStarted === life.isStarted && isReady === life.isReady) return { state: record, effects: [] };
  const isInitialized = record.isInitialized || (desired.role === "sidecar" && isStarted);
  return { state: { ...record, isInitialized, life: { ...life, isStarted, isReady } }, effects: [] };
}

function stopWish(
  why: "liveness" | "startup" | "postStart",
  message: string,
  { desiredPod, desired, now }: ContainerContext,
): { why: typeof why; message: string; deadlineMs: number } {
  return { why, message, deadlineMs: now.monotonicMs + probeGraceMs(desired, why, terminationGraceMs(desiredPod.pod)) };
}

function probeGraceMs({ container }: DesiredContainer, why: string, defaultMs: number): number {
  const probe = why === "liveness" ? container.livenessProbe : why === "startup" ? container.startupProbe : undefined;
  return probe?.terminationGracePeriodSeconds === undefined ? defaultMs : probe.terminationGracePeriodSeconds * 1000;
}
