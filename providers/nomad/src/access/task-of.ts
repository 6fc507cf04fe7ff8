import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { TaskState } from "../api/types.ts";
import type { PodEntry } from "../pods/pod-entry.ts";
import { taskStateOf } from "../status/task-state.ts";

/** The task of a container; `undefined` until the client has heard of it. @throws NotFoundError for a container the pod does not have */
export function taskOf({ shape, allocation }: PodEntry, container: string): TaskState | undefined {
  if (!shape.containers.some(({ name }) => name === container))
    throw new NotFoundError(`pod ${shape.ref.namespace}/${shape.ref.name} has no container ${container} in Nomad`);
  return taskStateOf(allocation, container);
}

/** The allocation in which the container's task runs. @throws NotFoundError if it does not run */
export function runningAllocationOf(entry: PodEntry, container: string): string {
  const task = taskOf(entry, container);
  const { ref } = entry.shape;
  if (entry.allocation && task?.State === "running") return entry.allocation.ID;
  throw new NotFoundError(
    `container ${container} of pod ${ref.namespace}/${ref.name} does not run in Nomad: its task is ${task?.State ?? "not placed"}`,
  );
}
