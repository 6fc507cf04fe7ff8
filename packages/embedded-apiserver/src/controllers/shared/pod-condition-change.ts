import type { ApiObject } from "../../kinds/kind.ts";
import type { PodCondition } from "../../kinds/pod/pod-fields.ts";

/** Sets a condition of a pod; the time of its transition stays if the status does. */
export function withPodCondition(
  pod: ApiObject,
  condition: Pick<PodCondition, "type" | "status" | "reason" | "message">,
  now: string,
): ApiObject {
  const conditions: PodCondition[] = pod["status"].conditions ?? [];
  const known = conditions.find(({ type }) => type === condition.type);
  const lastTransitionTime = known?.status === condition.status ? (known.lastTransitionTime ?? now) : now;
  const changed: PodCondition = { lastProbeTime: null, ...condition, lastTransitionTime };
  const others = known === undefined ? [...conditions, changed] : conditions.map((other) => (other === known ? changed : other));
  return { ...pod, status: { ...pod["status"], conditions: others } };
}
