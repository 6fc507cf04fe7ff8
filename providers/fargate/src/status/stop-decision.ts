import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { isSidecar, shouldRestart } from "@virtual-kubelet/kubernetes";
import type { EcsContainer, EcsTask } from "../aws/ecs-objects.ts";
import type { OwnStop } from "./stop-cause.ts";
import { hasStarted } from "./task-memory.ts";

/** Why a running task has to be stopped, although its pod is not deleted. */
export interface StopDecision {
  readonly stop: OwnStop;
  /** Container concerned. */
  readonly container?: string | undefined;
  /** Whether the task may be stopped only after the same was seen again, because ECS may be about to restart the container. */
  readonly mustLast: boolean;
}

/**
 * Decides whether a task has to be stopped: because of the pod's deadline, a failed init container, a failed liveness or startup probe, or because the only
 * essential container of a task with several containers never ends by itself. Pure.
 *
 * @param started - names of the containers whose health check has passed before
 * @returns `undefined` if the task goes on, or is being stopped
 */
export function stopDecisionOf(
  task: EcsTask,
  pod: DeepReadonly<Pod>,
  { nowMs, started }: { readonly nowMs: number; readonly started: ReadonlySet<string> },
): StopDecision | undefined {
  const { spec, status } = pod;
  if (!spec || task.desiredStatus === "STOPPED" || task.lastStatus === "STOPPED") return undefined;
  const startMs = Date.parse(status?.startTime ?? "");
  if (spec.activeDeadlineSeconds !== undefined && nowMs - startMs >= spec.activeDeadlineSeconds * 1000)
    return { stop: "deadline", mustLast: false };
  const find = ({ name }: DeepReadonly<Container>): EcsContainer | undefined => task.containers.find((each) => each.name === name);
  const hasEnded = (container: DeepReadonly<Container>): boolean => find(container)?.lastStatus === "STOPPED";
  const failedInit = (spec.initContainers ?? []).find(
    (container) => !isSidecar(container) && hasEnded(container) && find(container)?.exitCode !== 0,
  );
  if (failedInit) return { stop: "init", container: failedInit.name, mustLast: false };
  const failed = unhealthyOf(task, pod, started);
  if (failed) return failed;
  // ECS itself ends the task of a single container.
  if (spec.containers.length < 2) return undefined;
  const crashed = spec.containers.find(
    (container) => hasEnded(container) && shouldRestart(container, spec, find(container)?.exitCode ?? 1),
  );
  if (crashed) return { stop: "restart", container: crashed.name, mustLast: true };
  return spec.containers.every(hasEnded) ? { stop: "ended", mustLast: false } : undefined;
}

/** A container whose liveness probe fails, or whose startup probe has failed. A failed readiness probe has no such effect. */
function unhealthyOf({ containers }: EcsTask, pod: DeepReadonly<Pod>, started: ReadonlySet<string>): StopDecision | undefined {
  const { spec } = pod;
  for (const { name, livenessProbe, startupProbe } of [...(spec?.containers ?? []), ...(spec?.initContainers ?? []).filter(isSidecar)]) {
    const found = containers.find((each) => each.name === name);
    if (found?.healthStatus !== "UNHEALTHY" || found.lastStatus !== "RUNNING") continue;
    const isStarting = startupProbe?.exec !== undefined && !started.has(name) && !hasStarted(found, pod);
    if (isStarting) return { stop: "startup", container: name, mustLast: false };
    if (livenessProbe?.exec) return { stop: "unhealthy", container: name, mustLast: false };
  }
  return undefined;
}
