import type { Container, ContainerStatus, DeepReadonly } from "@virtual-kubelet/core";
import type { EcsContainer, EcsTask } from "../aws/ecs-objects.ts";
import { containerIdOf, type TaskMemory } from "./task-memory.ts";
import { isPullError } from "./stop-cause.ts";

/** Exit code of a container whose code is not known, and of one that could not be started; as a kubelet's. */
const unknownExitCode = 137;
const startErrorExitCode = 128;

/** Translates the state of a container. Pure. */
export function containerStatusOf(
  container: DeepReadonly<Container>,
  found: EcsContainer | undefined,
  { task, memory, isInit }: { readonly task: EcsTask; readonly memory: TaskMemory; readonly isInit: boolean },
): ContainerStatus {
  const state = stateOf(found, task, memory);
  const isRunning = state.running !== undefined;
  const isStarted = isRunning && (!container.startupProbe?.exec || memory[container.name]?.hasStarted === true);
  const isHealthy = found?.healthStatus === "HEALTHY";
  const hasSucceeded = state.terminated?.exitCode === 0;
  const image = found?.image ?? container.image ?? "";
  return {
    name: container.name,
    image,
    imageID: found?.imageDigest === undefined ? "" : `${image}@${found.imageDigest}`,
    ...(found?.runtimeId !== undefined && { containerID: containerIdOf(found.runtimeId) }),
    restartCount: memory[container.name]?.restarts ?? 0,
    ready: isInit ? hasSucceeded : isStarted && (!container.readinessProbe?.exec || isHealthy),
    started: isStarted,
    state,
  };
}

function stateOf(found: EcsContainer | undefined, task: EcsTask, memory: TaskMemory): NonNullable<ContainerStatus["state"]> {
  switch (found?.lastStatus) {
    case "RUNNING": {
      const startedAt = memory[found.name]?.startedAt;
      return startedAt === undefined ? { waiting: waitingOf(task) } : { running: { startedAt } };
    }
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
  const startedAt = memory[found.name]?.startedAt ?? task.startedAt;
  const finishedAt = memory[found.name]?.endedAt ?? task.executionStoppedAt ?? task.stoppedAt;
  const wasStarted = found.runtimeId !== undefined && startedAt !== undefined;
  // A container may end before its task has started.
  const isBeforeEnd = finishedAt === undefined || Date.parse(startedAt ?? "") <= Date.parse(finishedAt);
  return {
    terminated: {
      exitCode: exitCode ?? (wasStarted ? unknownExitCode : startErrorExitCode),
      reason: terminatedReason(found, wasStarted),
      ...messageOf(found, task),
      ...(found.runtimeId !== undefined && { containerID: containerIdOf(found.runtimeId) }),
      ...(wasStarted && isBeforeEnd && { startedAt }),
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
