import type { ApiObject } from "../../kinds/kind.ts";
import type { PodStatus } from "../../kinds/pod/pod-fields.ts";
import { isActive, isReady, readySinceMs } from "./pod-state.ts";

const phaseOrder: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };
const costAnnotation = "controller.kubernetes.io/pod-deletion-cost";

/**
 * Selects the pods to delete when scaling down: unscheduled pods first, then pending, not ready, with low deletion cost, on crowded nodes,
 * and young ones.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/controller_utils.go, ActivePodsWithRanks.
 *
 * @param related - pods of the same workload, which determine how crowded a node is
 */
export function podsToDelete(
  pods: readonly Readonly<ApiObject>[],
  related: readonly Readonly<ApiObject>[],
  { count, nowMs }: { readonly count: number; readonly nowMs: number },
): Readonly<ApiObject>[] {
  if (count <= 0) return [];
  const onNode = new Map<string, number>();
  for (const pod of related) if (isActive(pod)) onNode.set(nodeOf(pod), (onNode.get(nodeOf(pod)) ?? 0) + 1);
  const rank = (pod: Readonly<ApiObject>): number => onNode.get(nodeOf(pod)) ?? 0;
  const compare = (a: Readonly<ApiObject>, b: Readonly<ApiObject>): number =>
    Number(nodeOf(a) !== "") - Number(nodeOf(b) !== "") ||
    phaseRank(a) - phaseRank(b) ||
    Number(isReady(a)) - Number(isReady(b)) ||
    deletionCost(a) - deletionCost(b) ||
    rank(b) - rank(a) ||
    byAge(readySinceMs(a), readySinceMs(b), nowMs) ||
    restarts(b) - restarts(a) ||
    byAge(Date.parse(a.metadata.creationTimestamp), Date.parse(b.metadata.creationTimestamp), nowMs) ||
    (a.metadata.uid < b.metadata.uid ? -1 : 1);
  return pods.toSorted(compare).slice(0, count);
}

function nodeOf(pod: Readonly<ApiObject>): string {
  return pod["spec"].nodeName ?? "";
}

function phaseRank(pod: Readonly<ApiObject>): number {
  return phaseOrder[pod["status"].phase] ?? 0;
}

function deletionCost(pod: Readonly<ApiObject>): number {
  return Number(pod.metadata.annotations?.[costAnnotation] ?? 0) || 0;
}

function restarts(pod: Readonly<ApiObject>): number {
  const { containerStatuses = [] }: PodStatus = pod["status"];
  return Math.max(0, ...containerStatuses.map(({ restartCount }) => restartCount));
}

/** Compares ages by order of magnitude, so that pods of similar age are equal. */
function byAge(aMs: number, bMs: number, nowMs: number): number {
  if (aMs === bMs) return 0;
  const magnitude = (sinceMs: number): number => Math.floor(Math.log2(Math.max(1, nowMs - sinceMs)));
  return magnitude(aMs) - magnitude(bMs);
}
