import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { EcsContainer, EcsTask } from "../aws/ecs-objects.ts";

/** Times of a container's run, RFC 3339. */
interface RunTimes {
  readonly startedAt?: string | undefined;
  /** Time at which it was first seen to have ended. */
  readonly endedAt?: string | undefined;
}

/** Facts about a container that ECS does not keep. The times are those of the last run. */
interface ContainerMemory extends RunTimes {
  /** Id of the last run. */
  readonly runtimeId?: string | undefined;
  /** Restarts that ECS has made in this task, as far as they were seen. */
  readonly restarts: number;
  /** Whether the health check of the last run has passed once, so that a startup probe is over. */
  readonly hasStarted: boolean;
}

/** Facts about a task that ECS does not keep, by container. */
export type TaskMemory = Readonly<Record<string, ContainerMemory>>;

interface RememberContext {
  readonly memory: TaskMemory;
  /** The pod at the API server. */
  readonly pod: DeepReadonly<Pod> | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * Returns the memory after an observation. ECS tells when a task has started and stopped, and not when its containers have: those of
 * `spec.containers` count as started with their task, and init containers and sidecars when they are first seen. Times that were reported to
 * Kubernetes before are kept. Pure.
 */
export function remember(task: EcsTask, context: RememberContext): TaskMemory {
  return Object.fromEntries(task.containers.map((container) => [container.name, rememberContainer(container, task, context)]));
}

function rememberContainer(container: EcsContainer, task: EcsTask, context: RememberContext): ContainerMemory {
  const before = context.memory[container.name];
  const runtimeId = container.runtimeId ?? before?.runtimeId;
  const isOtherRun = before?.runtimeId !== undefined && before.runtimeId !== runtimeId;
  const known: RunTimes = { ...reportedTimesOf(container, context.pod), ...(!isOtherRun && timesOf(before)) };
  const isRunning = container.lastStatus === "RUNNING";
  const isStopped = container.lastStatus === "STOPPED";
  const now = new Date(context.nowMs).toISOString();
  return {
    runtimeId,
    restarts: (before?.restarts ?? 0) + (isOtherRun ? 1 : 0),
    startedAt: known.startedAt ?? (isRunning ? (isOtherRun ? now : firstStartOf(container, task, context)) : undefined),
    hasStarted: (!isOtherRun && before?.hasStarted === true) || hasStarted(container, context.pod),
    endedAt: isStopped ? (known.endedAt ?? task.executionStoppedAt ?? now) : undefined,
  };
}

/** Start of a container that is seen to run for the first time; `undefined`: its task has not started. */
function firstStartOf({ name }: EcsContainer, { startedAt }: EcsTask, { pod, nowMs }: RememberContext): string | undefined {
  const startsBeforeTask = pod?.spec?.initContainers?.some((each) => each.name === name);
  return startedAt ?? (startsBeforeTask ? new Date(nowMs).toISOString() : undefined);
}

function timesOf({ startedAt, endedAt }: RunTimes = {}): RunTimes {
  return { ...(startedAt !== undefined && { startedAt }), ...(endedAt !== undefined && { endedAt }) };
}

/** Times of a container's run in the pod's status at the API server. */
function reportedTimesOf(container: EcsContainer, pod: DeepReadonly<Pod> | undefined): RunTimes {
  const { running, terminated } = reportedStatusOf(container, pod)?.state ?? {};
  return timesOf(terminated ? { startedAt: terminated.startedAt, endedAt: terminated.finishedAt } : { startedAt: running?.startedAt });
}

/** Whether the health check passes, or has passed according to the pod's status at the API server. */
export function hasStarted(container: EcsContainer, pod: DeepReadonly<Pod> | undefined): boolean {
  return container.healthStatus === "HEALTHY" || reportedStatusOf(container, pod)?.started === true;
}

/** Status of a container's run at the API server. */
function reportedStatusOf(
  { name, runtimeId }: EcsContainer,
  pod: DeepReadonly<Pod> | undefined,
): DeepReadonly<ContainerStatus> | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = pod?.status ?? {};
  const reported = [...containerStatuses, ...initContainerStatuses].find((each) => each.name === name);
  return runtimeId !== undefined && reported?.containerID === containerIdOf(runtimeId) ? reported : undefined;
}

/** Kubernetes' id of a container's run. */
export function containerIdOf(runtimeId: string): string {
  return `ecs://${runtimeId}`;
}
