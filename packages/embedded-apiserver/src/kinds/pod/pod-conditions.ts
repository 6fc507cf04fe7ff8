import type { ApiObject } from "../kind.ts";
import type { PodCondition } from "./pod-fields.ts";

/**
 * Copies a pod with a new or changed condition. The transition time changes only if the condition's status does.
 *
 * Source: pkg/api/pod/util.go of Kubernetes v1.36.3, `UpdatePodCondition`.
 *
 * @param now - RFC 3339
 */
export function withPodCondition(
  pod: Readonly<ApiObject>,
  condition: Omit<PodCondition, "lastProbeTime" | "lastTransitionTime">,
  now: string,
): ApiObject {
  const conditions: readonly PodCondition[] = pod["status"]?.conditions ?? [];
  const known = conditions.find(({ type }) => type === condition.type);
  const lastTransitionTime = known?.status === condition.status ? (known.lastTransitionTime ?? now) : now;
  // Go writes the probe time even if it is empty.
  const changed: PodCondition = { lastProbeTime: null, ...condition, lastTransitionTime };
  const others = known === undefined ? [...conditions, changed] : conditions.map((other) => (other === known ? changed : other));
  return { ...pod, metadata: { ...pod.metadata }, status: { ...pod["status"], conditions: others } };
}
