import type { ContainerState, ContainerStatus, DeepReadonly } from "@virtual-kubelet/core";
import type { ProbeStanding } from "@virtual-kubelet/pod-runtime/probes";
import type { TaskEvent, TaskState } from "../api/types.ts";
import type { ContainerShape } from "../job/pod-shape.ts";

/** How an instance of a container ended. */
export type Terminated = NonNullable<ContainerState["terminated"]>;

/** Input of a container's status. */
export interface ContainerInput {
  readonly shape: ContainerShape;
  readonly allocationId: string | undefined;
  /** State of its task in Nomad; `undefined` until the client knows the task. */
  readonly task: TaskState | undefined;
  /** End of the previous instance, if it was seen: Nomad keeps only ten events. */
  readonly remembered: Terminated | undefined;
  /** The pod has init containers that the other containers wait for. */
  readonly waitsForInit: boolean;
  /** Whether the allocation has ended or was lost: containers that have not ended then get the reason why. */
  readonly over: "no" | "ended" | "lost";
  /** Restarts in earlier starts of the pod. */
  readonly restarts: number;
  /** Delay before the pod is started again; `undefined` unless its start has failed. */
  readonly backOffMs: number | undefined;
  /** What its probes have found; `undefined` while nobody probes it. */
  readonly standing: ProbeStanding | undefined;
}

/** Types of Nomad's events for a start that failed. */
const failedStarts: ReadonlyMap<string, string> = new Map([
  ["Driver Failure", "StartError"],
  ["Setup Failure", "CreateContainerError"],
  ["Failed Validation", "CreateContainerConfigError"],
  ["Failed Artifact Download", "CreateContainerError"],
]);
const failedStartCode = 128;
const killedCode = 137;

/** The status of one container, as a kubelet would tell it. */
export function containerStatusOf(input: ContainerInput): ContainerStatus {
  const { shape, task, standing = unprobed(shape) } = input;
  const state = stateOf(input);
  const restartCount = input.restarts + restartsOf(task);
  const containerID = containerIdOf(input);
  const isRunning = state.running !== undefined;
  const last = lastStateOf(input, state);
  return {
    name: shape.name,
    image: shape.image,
    imageID: "",
    restartCount,
    ready: shape.role === "init" ? state.terminated?.exitCode === 0 : isRunning && !isEnding(task) && standing.isReady,
    started: isRunning && standing.isStarted,
    ...(containerID !== undefined && { containerID }),
    state,
    lastState: last ? { terminated: last } : {},
  };
}

/** The id of a container's newest instance, as its status has it; `undefined` before its first start. */
export function containerIdOf({
  allocationId,
  shape,
  task,
  restarts,
}: Pick<ContainerInput, "allocationId" | "shape" | "task" | "restarts">): string | undefined {
  if (allocationId === undefined || !task?.StartedAt) return undefined;
  return `nomad://${allocationId}/${shape.name}/${restarts + restartsOf(task)}`;
}

/** Assumed result for a running container that has not been probed yet. */
function unprobed({ probes = [] }: ContainerShape): ProbeStanding {
  const isStarted = !probes.includes("startup");
  return { isStarted, isReady: isStarted && !probes.includes("readiness") };
}

/** End of the latest instance that has ended, if the task's events still hold it. */
export function lastEndOf(task: TaskState | undefined): Terminated | undefined {
  return lastEndIn(task?.Events ?? []);
}

function lastEndIn(events: readonly TaskEvent[]): Terminated | undefined {
  const at = events.findLastIndex(({ Type }) => Type === "Terminated");
  const end = events[at];
  if (!end) return undefined;
  const start = events.slice(0, at).findLast(({ Type }) => Type === "Started");
  return terminatedBy(end, start && timeOf(start));
}

/**
 * End of a task that its driver could not start. `undefined` for a task that was started, and for one whose image could not be pulled,
 * because that never became an instance.
 */
export function startErrorOf(task: TaskState | undefined): Terminated | undefined {
  const failure = task && failureOf(task);
  if (!task || failure?.Type !== "Driver Failure" || isPullFailure(failure) || !isNewer(failure, task, "Terminated")) return undefined;
  return { ...failedStart(failure), ...times(task) };
}

/** Restarts of a container whose pod is started again. */
export function restartsOnceMore(task: TaskState | undefined, before: number): number {
  return before + restartsOf(task) + (task?.StartedAt || startErrorOf(task) ? 1 : 0);
}

/** Why a task could not be started, in Nomad's words; `undefined` if it was started. */
export function startFailureOf(task: TaskState | undefined): string | undefined {
  const failure = task && failureOf(task);
  return failure && isNewer(failure, task, "Terminated") ? textOf(failure) : undefined;
}

/** Nomad counts a restart when it decides on it, a kubelet when the container starts. */
function restartsOf(task: TaskState | undefined): number {
  const isAhead = task?.State === "pending" && task.Events?.at(-1)?.Type === "Restarting";
  return Math.max(0, (task?.Restarts ?? 0) - (isAhead ? 1 : 0));
}

function stateOf(input: ContainerInput): ContainerState {
  const { task, over, waitsForInit, shape } = input;
  const waiting = { reason: waitsForInit && shape.role === "main" ? "PodInitializing" : "ContainerCreating" };
  if (over === "lost" && task?.State !== "dead")
    return { terminated: { exitCode: killedCode, reason: "ContainerStatusUnknown", message: "Nomad lost the container", ...times(task) } };
  if (!task) return over === "no" ? { waiting } : { terminated: neverStarted(undefined) };
  switch (task.State) {
    case "running":
      return { running: { ...(task.StartedAt && { startedAt: seconds(task.StartedAt) }) } };
    case "dead":
      return deadState(input, task);
    default:
      return over === "ended" ? { terminated: neverStarted(task) } : { waiting: waitingState(task, waiting.reason) };
  }
}

function deadState({ over, backOffMs }: ContainerInput, task: TaskState): ContainerState {
  const end = lastEndOf(task);
  const failure = failureOf(task);
  if (end && (!failure || !isNewer(failure, task, "Terminated")))
    return { terminated: { ...end, ...(task.StartedAt && { startedAt: end.startedAt ?? seconds(task.StartedAt) }) } };
  if (failure && backOffMs !== undefined) return { waiting: startsAgain(failure, backOffMs) };
  if (failure) return { terminated: { ...failedStart(failure), ...times(task) } };
  return over === "no" ? { waiting: { reason: "PodInitializing" } } : { terminated: neverStarted(task) };
}

/** A container that a kubelet would go on trying to start. */
function startsAgain(failure: TaskEvent, backOffMs: number): NonNullable<ContainerState["waiting"]> {
  const message = `back-off ${backOffMs / 1000}s before the pod is started again: ${textOf(failure)}`;
  if (isPullFailure(failure)) return { reason: "ImagePullBackOff", message };
  const reason = failedStarts.get(failure.Type);
  return { reason: reason === undefined || reason === "StartError" ? "CrashLoopBackOff" : reason, message };
}

function waitingState(task: TaskState, usual: string): NonNullable<ContainerState["waiting"]> {
  const failure = failureOf(task);
  const newest = task.Events?.at(-1);
  const download = newest?.Type === "Driver" ? textOf(newest) : undefined;
  if (newest?.Type === "Restarting" || failure === newest) {
    const pull = failure && isNewer(failure, task, "Terminated") && isPullFailure(failure);
    if (pull) return { reason: "ImagePullBackOff", message: textOf(failure) };
    if (failure && isNewer(failure, task, "Terminated"))
      return { reason: failedStarts.get(failure.Type) ?? "CreateContainerError", message: textOf(failure) };
    return { reason: "CrashLoopBackOff", ...(newest && { message: textOf(newest) }) };
  }
  if (newest?.Type === "Template") return { reason: "PodInitializing" };
  return { reason: usual, ...(download !== undefined && { message: download }) };
}

function lastStateOf({ task, remembered, restarts, backOffMs }: ContainerInput, state: ContainerState): Terminated | undefined {
  const startError = backOffMs !== undefined && state.waiting ? startErrorOf(task) : undefined;
  if (startError) return startError;
  const known = restarts + (task?.Restarts ?? 0) > 0 ? remembered : undefined;
  if (!task) return known;
  if (state.terminated) return known && known.finishedAt !== state.terminated.finishedAt ? known : undefined;
  const events = task.Events ?? [];
  // The end of the current instance is not the last state of the previous one.
  const until = task.State === "running" ? events.findLastIndex(({ Type }) => Type === "Started") : events.length;
  return until < 0 ? known : (lastEndIn(events.slice(0, until)) ?? known);
}

/** Whether a running task is ending: Nomad reports it as running until its siblings have ended. */
export function isEnding(task: TaskState | undefined): boolean {
  const newest = task?.Events?.at(-1)?.Type;
  return newest === "Terminated" || newest === "Killing" || newest === "Not Restarting";
}

function terminatedBy(event: TaskEvent, startedAt: string | undefined): Terminated {
  const { Signal = 0, Details } = event;
  const oom = Details?.["oom_killed"] === "true";
  const code = event.ExitCode ?? (Number(Details?.["exit_code"] ?? 0) || 0);
  const exitCode = code === 0 && Signal > 0 ? 128 + Signal : code;
  const message = Details?.["exit_message"];
  return {
    exitCode: exitCode < 0 || exitCode > 255 ? 255 : exitCode,
    reason: oom ? "OOMKilled" : exitCode === 0 ? "Completed" : "Error",
    ...(message !== undefined && message !== "" && { message }),
    ...(startedAt !== undefined && { startedAt }),
    finishedAt: timeOf(event),
  };
}

function failedStart(event: TaskEvent): Pick<Terminated, "exitCode" | "reason" | "message"> {
  const reason = isPullFailure(event) ? "ErrImagePull" : failedStarts.get(event.Type);
  return { exitCode: failedStartCode, reason: reason ?? "StartError", message: textOf(event) };
}

/** Status of a task that had not ended when its pod did. */
function neverStarted(task: TaskState | undefined): Terminated {
  return {
    exitCode: failedStartCode,
    reason: "ContainerNotStarted",
    message: "the pod ended before the container started",
    ...times(task),
  };
}

function times(task: TaskState | undefined): { startedAt?: string; finishedAt: string } {
  const newest = task?.Events?.at(-1);
  const finishedAt = task?.FinishedAt ? seconds(task.FinishedAt) : newest ? timeOf(newest) : epoch;
  return { ...(task?.StartedAt && { startedAt: seconds(task.StartedAt) }), finishedAt };
}

const epoch = "1970-01-01T00:00:00Z";

function failureOf(task: TaskState): TaskEvent | undefined {
  return task.Events?.findLast(({ Type }) => failedStarts.has(Type));
}

function isNewer(event: TaskEvent, task: TaskState, thanType: string): boolean {
  const events = task.Events ?? [];
  return events.indexOf(event) > events.findLastIndex(({ Type }) => Type === thanType);
}

function isPullFailure(event: TaskEvent): boolean {
  return /failed to pull|pull access denied|image .*not found/i.test(textOf(event));
}

function textOf({ DisplayMessage, Message, Details }: DeepReadonly<TaskEvent>): string {
  return (
    [Details?.["driver_error"], Details?.["validation_error"], Details?.["setup_error"], DisplayMessage, Message].find((text) => text) ?? ""
  );
}

/** A time of nanoseconds as the API writes it: whole seconds. */
function timeOf({ Time }: TaskEvent): string {
  return seconds(new Date(Time / 1e6).toISOString());
}

/** A time of RFC 3339 cut to whole seconds, in UTC. */
function seconds(time: string): string {
  return `${new Date(Date.parse(time)).toISOString().slice(0, 19)}Z`;
}
