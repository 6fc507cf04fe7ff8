import type { Container, ContainerStatus, DeepReadonly } from "@virtual-kubelet/core";
import type { EcsContainer, EcsTask } from "../aws/ecs-objects.ts";
import { isPullError } from "./stop-cause.ts";

/** Facts that ECS does not keep. */
export interface TaskMemory {
  /** Id of each container's last run. */
  readonly runtimeIds: Readonly<Record<string, string>>;
  /** Restarts that ECS has made in this task, as far as they were seen. */
  readonly restarts: Readonly<Record<string, number>>;
  /** Time at which each container was first seen to have ended, RFC 3339. */
  readonly endedAt: Readonly<Record<string, string>>;
}

/** Memory of a task that was not seen before. */
export const noMemory: TaskMemory = { runtimeIds: {}, restarts: {}, endedAt: {} };

/** Exit code of a container whose code is not known, and of one that could not be started; as a kubelet's. */
const unknownExitCode = 137;
const startErrorExitCode = 128;

/** Returns the memory after an observation. Pure. */
export function remember({ containers, executionStoppedAt }: EcsTask, memory: TaskMemory, nowMs: number): TaskMemory {
  const runtimeIds: Record<string, string> = { ...memory.runtimeIds };
  const restarts: Record<string, number> = { ...memory.restarts };
  const endedAt: Record<string, string> = {};
  for (const { name, runtimeId, lastStatus } of containers) {
    const known = runtimeIds[name];
    if (runtimeId !== undefined) runtimeIds[name] = runtimeId;
    if (runtimeId !== undefined && known !== undefined && known !== runtimeId) restarts[name] = (restarts[name] ?? 0) + 1;
    if (lastStatus === "STOPPED") endedAt[name] = memory.endedAt[name] ?? executionStoppedAt ?? new Date(nowMs).toISOString();
  }
  return { runtimeIds, restarts, endedAt };
}

/** Translates the state of a container. Pure. */
export function containerStatusOf(
  container: DeepReadonly<Container>,
  found: EcsContainer | undefined,
  { task, memory, isInit }: { readonly task: EcsTask; readonly memory: TaskMemory; readonly isInit: boolean },
): ContainerStatus {
  const state = stateOf(found, task, memory);
  const isRunning = state.running !== undefined;
  const isHealthy = found?.healthStatus === "HEALTHY";
  const hasSucceeded = state.terminated?.exitCode === 0;
  const image = found?.image ?? container.image ?? "";
  return {
    name: container.name,
    image,
    imageID: found?.imageDigest === undefined ? "" : `${image}@${found.imageDigest}`,
    ...(found?.runtimeId !== undefined && { containerID: `ecs://${found.runtimeId}` }),
    restartCount: memory.restarts[container.name] ?? 0,
    ready: isInit ? hasSucceeded : isRunning && (!container.readinessProbe?.exec || isHealthy),
    started: isRunning && (!container.startupProbe?.exec || isHealthy),
    state,
  };
}

function stateOf(found: EcsContainer | undefined, task: EcsTask, memory: TaskMemory): NonNullable<ContainerStatus["state"]> {
  switch (found?.lastStatus) {
    case "RUNNING":
      return { running: { ...(task.startedAt !== undefined && { startedAt: task.startedAt }) } };
    case "STOPPED":
      return stoppedState(found, task, memory);
    default:
      return task.lastStatus === "STOPPED" && found ? stoppedState(found, task, memory) : { waiting: waitingOf(task) };
  }
}

function stoppedState(found: EcsContainer, task: EcsTask, memory: TaskMemory): NonNullable<ContainerStatus["state"]> {
  const { exitCode, reason } = found;
  const pullError = [reason, task.stoppedReason].find(isPullError);
  if (exitCode === undefined && pullError !== undefined) return { waiting: { reason: "ErrImagePull", message: pullError } };
  const wasStarted = found.runtimeId !== undefined && task.startedAt !== undefined;
  const finishedAt = task.executionStoppedAt ?? memory.endedAt[found.name] ?? task.stoppedAt;
  return {
    terminated: {
      exitCode: exitCode ?? (wasStarted ? unknownExitCode : startErrorExitCode),
      reason: terminatedReason(found, wasStarted),
      ...messageOf(found, task),
      ...(found.runtimeId !== undefined && { containerID: `ecs://${found.runtimeId}` }),
      ...(wasStarted && { startedAt: task.startedAt }),
      ...(finishedAt !== undefined && { finishedAt }),
    },
  };
}

function terminatedReason({ exitCode, reason = "" }: EcsContainer, wasStarted: boolean): string {
  if (reason.startsWith("OutOfMemoryError")) return "OOMKilled";
  if (exitCode === undefined) return wasStarted ? "ContainerStatusUnknown" : "ContainerCannotRun";
  return exitCode === 0 ? "Completed" : "Error";
}

function messageOf({ exitCode, reason }: EcsContainer, { stoppedReason }: EcsTask): { readonly message?: string } {
  const message = reason ?? (exitCode === undefined ? stoppedReason : undefined);
  return message === undefined || message === "" ? {} : { message };
}

function waitingOf({ pullStartedAt, pullStoppedAt, lastStatus }: EcsTask): NonNullable<NonNullable<ContainerStatus["state"]>["waiting"]> {
  if (pullStartedAt !== undefined && pullStoppedAt === undefined) return { reason: "ContainerCreating", message: "ECS pulls the images" };
  return { reason: "ContainerCreating", message: `the task is ${lastStatus}` };
}
