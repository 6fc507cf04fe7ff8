import { ownValue } from "@virtual-kubelet/kubernetes";
import type { Allocation, TaskState } from "../api/types.ts";

/** What an allocation tells of a container's task; `undefined` until the client has heard of it. */
export function taskStateOf(allocation: Pick<Allocation, "TaskStates"> | undefined, container: string): TaskState | undefined {
  return ownValue(allocation?.TaskStates ?? undefined, container);
}
