import { ownValue } from "@virtual-kubelet/kubernetes";
import type { RunningContainer } from "@virtual-kubelet/pod-runtime/probes";
import type { PodEntry } from "../pods/pod-entry.ts";
import { containerIdOf, isEnding } from "../status/container-status.ts";
import { taskStateOf } from "../status/task-state.ts";

/** What runs of a pod, with what tells its instances apart. */
export function runningContainers({ shape, allocation, attempt, ending }: PodEntry): readonly RunningContainer[] {
  return shape.containers.flatMap((container): RunningContainer[] => {
    const { name, role } = container;
    const task = taskStateOf(allocation, name);
    if (!allocation || role === "init" || task?.State !== "running" || !task.StartedAt) return [];
    const restarts = ownValue(attempt.restarts, name) ?? 0;
    const containerID = containerIdOf({ allocationId: allocation.ID, shape: container, task, restarts });
    return [
      {
        name,
        id: instanceId(allocation.ID, name, task.StartedAt),
        containerID,
        startedAtMs: Date.parse(task.StartedAt),
        isStopping: ending !== undefined || isEnding(task),
      },
    ];
  });
}

/** Nomad counts a restart some time before it starts, so that only the start tells one instance from another. */
export function instanceId(allocation: string, task: string, startedAt: string): string {
  return `${allocation}/${task}/${startedAt}`;
}
