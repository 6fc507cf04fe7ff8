import { shouldRestart } from "@virtual-kubelet/kubernetes";
import { freshStanding } from "../probe/probe-standing.ts";
import type { ContainerLife, ContainerRecord, StopReason, Termination } from "./container-life.ts";
import type { Instant } from "./instant.ts";
import type { PodEffect, Step } from "./pod-effect.ts";
import type { DesiredContainer, DesiredPod } from "./desired-pod.ts";
import { podName } from "./pod-name.ts";
import { backoffAfter, backOffMessage, goSeconds } from "./restart-backoff.ts";
import type { PodRuntimeReason } from "../reasons.ts";

/** Minimum time between the stop signal and SIGKILL. Source: minimumGracePeriodInSeconds of kubernetes v1.36.3 kuberuntime. */
const minGraceMs = 2_000;
/** Delay before a failed start or stop is retried. Source: backOffPeriod of kubernetes v1.36.3 pkg/kubelet/kubelet.go. */
export const retryMs = 10_000;

/** A container of a pod, and the circumstances that decide its next step. */
export interface ContainerContext {
  readonly desiredPod: DesiredPod;
  readonly desired: DesiredContainer;
  readonly now: Instant;
  /** Whether the pod's containers are to end. */
  readonly isEnding: boolean;
}

/**
 * State of a container whose newest attempt has ended: restart at once, restart later, or never. The last two attempts that have ended are
 * kept for their logs.
 */
export function afterEnd(record: ContainerRecord, termination: Termination, context: ContainerContext): Step<ContainerRecord> {
  const oldest = record.previousTermination?.id;
  const { state, effects } = whatNext(record, termination, context);
  return { state, effects: oldest === undefined ? effects : [{ kind: "removeContainer", id: oldest }, ...effects] };
}

function whatNext(record: ContainerRecord, termination: Termination, context: ContainerContext): Step<ContainerRecord> {
  const { desired, now, isEnding } = context;
  const why = "why" in record.life ? record.life.why : undefined;
  const isDone = desired.role === "init" && termination.exitCode === 0;
  const ended: ContainerRecord = {
    ...record,
    life: { kind: "ended" },
    previousTermination: record.lastTermination,
    lastTermination: termination,
    isReplaced: undefined,
    resize: undefined,
    isInitialized: isDone || (desired.role === "sidecar" && record.isInitialized),
  };
  if (isDone || isEnding || !mayRestart(context, termination.exitCode, why)) return { state: ended, effects: [] };
  const again: ContainerRecord = { ...ended, isReplaced: !isRestarted(context, termination.exitCode), life: { kind: "idle" } };
  if (why === "changed") return { state: { ...again, crashBackoff: undefined }, effects: [] };
  const atOnce = why === "liveness" || why === "startup" ? afterProbe(again, now) : undefined;
  if (atOnce || again.isReplaced) return { state: atOnce ?? ended, effects: [] };
  return backOff(again, agoOf(termination, now), context);
}

/**
 * State of a container that is restarted at once after a failed liveness or startup probe; `undefined` if the restart policy and the back-off
 * decide. A kubelet stops and starts such a container in one sync, which looks at the end of the attempt before; if that end is too recent,
 * the next sync finds this end. Source: computePodActions, doBackOff and SyncPod in kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_manager.go.
 */
function afterProbe(record: ContainerRecord, now: Instant): ContainerRecord | undefined {
  if (!record.previousTermination) return record;
  const { dueMs, next } = backoffAfter(record.crashBackoff, agoOf(record.previousTermination, now));
  return dueMs <= now.monotonicMs ? { ...record, crashBackoff: next } : undefined;
}

/** Time of the end on the monotonic clock. */
function agoOf({ finishedAtMs }: Termination, now: Instant): number {
  return now.monotonicMs - Math.max(0, now.wallMs - finishedAtMs);
}

function backOff(record: ContainerRecord, endedAtMs: number, context: ContainerContext): Step<ContainerRecord> {
  const { desiredPod, desired, now } = context;
  const { dueMs, delayMs, next } = backoffAfter(record.crashBackoff, endedAtMs);
  if (dueMs <= now.monotonicMs) return { state: { ...record, life: { kind: "idle" }, crashBackoff: next }, effects: [] };
  const pod = podName(desiredPod.pod);
  const message = `back-off ${goSeconds(delayMs)} restarting failed container=${desired.name} pod=${pod}`;
  const life: ContainerLife = { kind: "waiting", reason: "CrashLoopBackOff", message, untilMs: dueMs, sinceMs: now.monotonicMs };
  return {
    state: { ...record, life, crashBackoff: next },
    effects: [warning("BackOff", backOffMessage(desired.name, desiredPod.pod), desired)],
  };
}

/**
 * Whether a container is restarted after it has ended. Its own change, or a failed probe, restarts it whatever its exit code; a failed
 * probe does not if the restart policy is `Never`. Source: computePodActions in kubernetes v1.36.3
 * pkg/kubelet/kuberuntime/kuberuntime_manager.go.
 */
function mayRestart(context: ContainerContext, exitCode: number, why: StopReason | undefined): boolean {
  const { role } = context.desired;
  if (role === "ephemeral" || (role === "init" && exitCode === 0)) return false;
  if (why === "changed" || ((why === "liveness" || why === "startup") && restartsAfterProbe(context))) return true;
  return isRestarted(context, exitCode);
}

/** Decision of the restart policy alone. */
function isRestarted({ desiredPod, desired }: ContainerContext, exitCode: number): boolean {
  return shouldRestart(desired.container, desiredPod.pod.spec ?? { containers: [] }, exitCode);
}

/** Whether a failed liveness or startup probe restarts the container. */
export function restartsAfterProbe({ desiredPod, desired: { container } }: ContainerContext): boolean {
  return (container.restartPolicy ?? desiredPod.pod.spec?.restartPolicy) !== "Never";
}

/** State of a container that has just started. Without a postStart hook it is running at once. */
export function afterStart(
  record: ContainerRecord,
  instance: { id: string; startedAtMs: number },
  context: ContainerContext,
): Step<ContainerRecord> {
  const { desired } = context;
  const started: PodEffect = {
    kind: "event",
    type: "Normal",
    reason: "Started",
    message: "Container started",
    container: desired.name,
  };
  if (desired.container.lifecycle?.postStart) {
    const effects: PodEffect[] = [started, { kind: "runHook", container: desired.name, id: instance.id, hook: "postStart" }];
    return { state: { ...record, life: { kind: "postStart", instance } }, effects };
  }
  return { state: nowRunning(record, instance, desired), effects: [started] };
}

/** State of a container after its postStart hook. */
export function nowRunning(
  record: ContainerRecord,
  instance: { id: string; startedAtMs: number },
  desired: DesiredContainer,
): ContainerRecord {
  const standing = freshStanding(desired.container);
  const isInitialized = record.isInitialized || (desired.role === "sidecar" && standing.isStarted);
  return { ...record, life: { kind: "running", instance, ...standing }, trouble: undefined, isInitialized };
}

/** Reason and deadline of a stop. */
export interface StopWish {
  readonly why: StopReason;
  /** Monotonic. */
  readonly deadlineMs: number;
  /** Message of the event. */
  readonly message: string;
  /** Whether other containers have to end first. The preStop hook does not wait for them. */
  readonly hasToWait?: boolean;
}

/** Starts to stop a running container, with its preStop hook first if there is time. */
export function beginStop(record: ContainerRecord, wish: StopWish, { desired, now }: ContainerContext): Step<ContainerRecord> {
  const { life } = record;
  if (life.kind !== "running" && life.kind !== "postStart") return { state: record, effects: [] };
  const flags = life.kind === "running" ? life : { isStarted: false, isReady: false };
  const leftMs = wish.deadlineMs - now.monotonicMs;
  const killing: PodEffect = { kind: "event", type: "Normal", reason: "Killing", message: wish.message, container: desired.name };
  const stop = {
    instance: life.instance,
    isStarted: flags.isStarted,
    isReady: flags.isReady,
    why: wish.why,
    deadlineMs: wish.deadlineMs,
  };
  if (desired.container.lifecycle?.preStop && leftMs > 0) {
    const hook: PodEffect = { kind: "runHook", container: desired.name, id: life.instance.id, hook: "preStop" };
    return { state: { ...record, life: { kind: "preStop", ...stop } }, effects: [killing, hook] };
  }
  if (wish.hasToWait && leftMs > 0)
    return { state: { ...record, life: { kind: "preStop", ...stop, isHookOver: true } }, effects: [killing] };
  const stopping: ContainerLife = { kind: "stopping", ...stop };
  return { state: { ...record, life: stopping }, effects: [killing, stopEffect(desired, stopping, now)] };
}

/** The effect that stops a container with the rest of its grace period. */
export function stopEffect(
  desired: DesiredContainer,
  life: { readonly instance: { readonly id: string }; readonly deadlineMs: number },
  now: Instant,
): PodEffect {
  const graceMs = Math.max(minGraceMs, life.deadlineMs - now.monotonicMs);
  return { kind: "stopContainer", container: desired.name, id: life.instance.id, graceMs };
}

/** A warning event about a container, or about the pod. */
export function warning(reason: PodRuntimeReason, message: string, desired?: DesiredContainer): PodEffect {
  return { kind: "event", type: "Warning", reason, message, container: desired?.name };
}
