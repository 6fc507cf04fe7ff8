import type { ApiObject } from "../../kinds/kind.ts";

/** A condition of a pod. */
export interface PodCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly lastTransitionTime: string;
  readonly reason?: string;
  readonly message?: string;
}

/**
 * A copy of the pod whose status has this condition; the time of the last transition stays where the status does.
 *
 * Source: pkg/api/pod/util.go of Kubernetes v1.36.3, `UpdatePodCondition`.
 */
export function withCondition(pod: Readonly<ApiObject>, condition: PodCondition): ApiObject {
  const conditions: readonly PodCondition[] = pod["status"]?.conditions ?? [];
  const old = conditions.find(({ type }) => type === condition.type);
  const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : condition.lastTransitionTime;
  // Go writes the time of the last probe even where there is none.
  const updated = { lastProbeTime: null, ...condition, lastTransitionTime };
  const others = old === undefined ? [...conditions, updated] : conditions.map((other) => (other === old ? updated : other));
  return { ...pod, metadata: { ...pod.metadata }, status: { ...pod["status"], conditions: others } };
}
