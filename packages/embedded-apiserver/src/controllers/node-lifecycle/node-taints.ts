import type { ApiObject } from "../../kinds/kind.ts";
import { notReadyTaint } from "../../kinds/node/node.ts";
import type { NodeSpec, NodeStatus, Taint } from "../../kinds/node/node-fields.ts";

const unreachableTaint = "node.kubernetes.io/unreachable";

/** Taints that correspond to a node condition and its status. */
const conditionTaints: readonly { readonly condition: string; readonly status: string; readonly key: string }[] = [
  { condition: "Ready", status: "False", key: notReadyTaint },
  { condition: "Ready", status: "Unknown", key: unreachableTaint },
  { condition: "MemoryPressure", status: "True", key: "node.kubernetes.io/memory-pressure" },
  { condition: "DiskPressure", status: "True", key: "node.kubernetes.io/disk-pressure" },
  { condition: "PIDPressure", status: "True", key: "node.kubernetes.io/pid-pressure" },
  { condition: "NetworkUnavailable", status: "True", key: "node.kubernetes.io/network-unavailable" },
];
const unschedulableTaint = "node.kubernetes.io/unschedulable";

/**
 * Computes a node's taints: those derived from its conditions, and those set by others.
 * Source: Kubernetes v1.36.3 pkg/controller/nodelifecycle/node_lifecycle_controller.go.
 */
export function nodeTaints(node: Readonly<ApiObject>, now: string): Taint[] {
  const { taints = [], unschedulable = false }: NodeSpec = node["spec"];
  const { conditions = [] }: NodeStatus = node["status"];
  const ready = conditions.find(({ type }) => type === "Ready");
  // A node without a Ready condition keeps the taint it was created with.
  if (ready === undefined) return withUnschedulable(taints, unschedulable, now);
  const noSchedule = new Set(
    conditionTaints
      .filter((rule) => conditions.some(({ type, status }) => type === rule.condition && status === rule.status))
      .map(({ key }) => key),
  );
  const noExecute = new Set([notReadyTaint, unreachableTaint].filter((key) => noSchedule.has(key)));
  const isOurs = ({ key, effect }: Taint): boolean =>
    (effect === "NoSchedule" && conditionTaints.some((rule) => rule.key === key)) ||
    (effect === "NoExecute" && (key === notReadyTaint || key === unreachableTaint));
  const kept = taints.filter((taint) => !isOurs(taint) || (taint.effect === "NoSchedule" ? noSchedule : noExecute).has(taint.key));
  const has = (key: string, effect: string): boolean => kept.some((taint) => taint.key === key && taint.effect === effect);
  const added = [
    ...[...noSchedule].filter((key) => !has(key, "NoSchedule")).map((key) => ({ key, effect: "NoSchedule", timeAdded: now })),
    ...[...noExecute].filter((key) => !has(key, "NoExecute")).map((key) => ({ key, effect: "NoExecute", timeAdded: now })),
  ];
  return withUnschedulable([...kept, ...added], unschedulable, now);
}

function withUnschedulable(taints: readonly Taint[], unschedulable: boolean, now: string): Taint[] {
  const isIt = ({ key, effect }: Taint): boolean => key === unschedulableTaint && effect === "NoSchedule";
  if (!unschedulable) return taints.filter((taint) => !isIt(taint));
  return taints.some(isIt) ? [...taints] : [...taints, { key: unschedulableTaint, effect: "NoSchedule", timeAdded: now }];
}
