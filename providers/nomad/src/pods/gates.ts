import type { Allocation, TaskState } from "../api/types.ts";
import { prestartContainers, type ContainerShape, type PodShape } from "../job/pod-shape.ts";
import { lastEndOf } from "../status/container-status.ts";

/**
 * The containers whose turn has come: all before them are through. Nomad starts what comes before the main containers at
 * once; gates make an order of it.
 */
export function gatesToOpen(shape: Pick<PodShape, "containers">, allocation: Allocation | undefined): readonly string[] {
  const tasks = allocation?.TaskStates;
  if (!tasks) return [];
  const due: string[] = [];
  for (const [index, container] of prestartContainers(shape).entries()) {
    const task = tasks[container.name];
    if (index > 0 && !task?.StartedAt) due.push(container.name);
    if (!isThrough(container, task)) break;
  }
  return due;
}

function isThrough({ role }: ContainerShape, task: TaskState | undefined): boolean {
  if (!task) return false;
  return role === "sidecar" ? task.State === "running" : task.State === "dead" && lastEndOf(task)?.exitCode === 0;
}
