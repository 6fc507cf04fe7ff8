import type { Allocation, TaskState } from "../api/types.ts";
import { gatedContainers, prestartContainers, type ContainerShape, type PodShape } from "../job/pod-shape.ts";
import { lastEndOf } from "../status/container-status.ts";
import { taskStateOf } from "../status/task-state.ts";

/**
 * The containers whose turn has come: all before them are through. Nomad starts what comes before the main containers at
 * once; gates make an order of it.
 *
 * @param isStarted - whether a container that runs has passed its startup probe, or has none
 */
export function gatesToOpen(
  shape: Pick<PodShape, "containers">,
  allocation: Allocation | undefined,
  isStarted: (container: string) => boolean,
): readonly string[] {
  if (!allocation?.TaskStates) return [];
  const gated = gatedContainers(shape).filter(({ name }) => !taskStateOf(allocation, name)?.StartedAt);
  const prestart = prestartContainers(shape);
  const through = prestart.findIndex((container) => !isThrough(container, taskStateOf(allocation, container.name), isStarted));
  // Main containers wait for all of them, and those for the ones before.
  const isDue = ({ role, name }: ContainerShape): boolean =>
    through < 0 || (role !== "main" && prestart.findIndex((container) => container.name === name) <= through);
  return gated.filter(isDue).map(({ name }) => name);
}

function isThrough({ role, name }: ContainerShape, task: TaskState | undefined, isStarted: (container: string) => boolean): boolean {
  if (!task) return false;
  return role === "sidecar" ? task.State === "running" && isStarted(name) : task.State === "dead" && lastEndOf(task)?.exitCode === 0;
}
