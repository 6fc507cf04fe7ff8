import type { ApiObject } from "../../kinds/kind.ts";
import type { PodCondition, PodStatus } from "../../kinds/pod/pod-fields.ts";

/** Whether the pod has finished. */
export function isTerminal(pod: Readonly<ApiObject>): boolean {
  const { phase }: PodStatus = pod["status"];
  return phase === "Succeeded" || phase === "Failed";
}

/** Whether the pod counts as a replica: neither finished nor terminating. */
export function isActive(pod: Readonly<ApiObject>): boolean {
  return !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** Whether the pod is being deleted and has not finished. */
export function isTerminating(pod: Readonly<ApiObject>): boolean {
  return !isTerminal(pod) && pod.metadata.deletionTimestamp !== undefined;
}

export function podCondition(pod: Readonly<ApiObject>, type: string): PodCondition | undefined {
  const { conditions }: PodStatus = pod["status"];
  return conditions?.find((condition) => condition.type === type);
}

/** Whether the pod's condition Ready is true. */
export function isReady(pod: Readonly<ApiObject>): boolean {
  return podCondition(pod, "Ready")?.status === "True";
}

/** Time since which the pod has been ready, in milliseconds since the epoch; 0 if it is not ready or the time is unknown. */
export function readySinceMs(pod: Readonly<ApiObject>): number {
  const condition = podCondition(pod, "Ready");
  return condition?.status === "True" && condition.lastTransitionTime ? Date.parse(condition.lastTransitionTime) : 0;
}

/** Milliseconds until the pod counts as available; 0 if it already does, `undefined` if it is not ready. */
export function availableInMs(pod: Readonly<ApiObject>, minReadySeconds: number, nowMs: number): number | undefined {
  if (!isReady(pod)) return undefined;
  if (minReadySeconds === 0) return 0;
  const sinceMs = readySinceMs(pod);
  return sinceMs === 0 ? undefined : Math.max(0, sinceMs + minReadySeconds * 1000 - nowMs);
}
