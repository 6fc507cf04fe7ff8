import type { DeepReadonly, Node, Taint } from "@virtual-kubelet/kube-client";
import { matchesNodeAffinity, toleratesTaint } from "@virtual-kubelet/kubernetes";
import type { SchedulingConfig } from "../config/scheduling.ts";

/** A far node that the configuration selects. */
export interface SelectedNode {
  readonly name: string;
  readonly node: DeepReadonly<Node>;
  /** Only a ready node takes pods and counts for the capacity. */
  readonly state: "ready" | "unready" | "cordoned";
  /** Why an unready node is unready. */
  readonly problem: string | undefined;
}

/** Taint of every virtual node of this project and of upstream's. */
const virtualNodeTaint = "virtual-kubelet.io/provider";

/** The taint that the API server adds while `spec.unschedulable` is set. */
const cordonTaint = "node.kubernetes.io/unschedulable";

/**
 * Taints that say how a node is at the moment, and not for whom it is.
 * Source: kubernetes v1.36.3 staging/src/k8s.io/api/core/v1/well_known_taints.go, and k8s.io/cloud-provider/api.
 */
const statePrefixes = ["node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"];

/** Taint that pods with requests tolerate. Source: the same, and the pod admission of TaintNodesByCondition. */
const memoryPressureTaint = "node.kubernetes.io/memory-pressure";

/**
 * Returns the far nodes on which pods of the virtual node may run, by name. Virtual nodes are left out, so that two clusters that are each
 * other's nodes do not count their capacity round and round.
 */
export function selectFarNodes(nodes: Iterable<DeepReadonly<Node>>, scheduling: SchedulingConfig): readonly SelectedNode[] {
  return matchingNodes(nodes, scheduling).filter(({ node }) => foreignTaints(node, scheduling).length === 0);
}

/** Returns the far nodes that the selector matches, whatever their taints, by name; without virtual nodes. */
export function matchingNodes(nodes: Iterable<DeepReadonly<Node>>, { nodeSelector, farNode }: SchedulingConfig): readonly SelectedNode[] {
  return Array.from(nodes)
    .filter((node) => !isVirtual(node) && matchesNodeAffinity({ nodeSelector }, node))
    .filter((node) => farNode === undefined || node.metadata?.name === farNode)
    .map(toSelected)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Taints that keep pods away and that the configuration does not tolerate, except those about the node's state. */
export function foreignTaints(
  node: DeepReadonly<Node>,
  { tolerations }: Pick<SchedulingConfig, "tolerations">,
): readonly DeepReadonly<Taint>[] {
  return hardTaints(node).filter((taint) => !isAboutState(taint) && !toleratesTaint(tolerations, taint));
}

/** Whether the taint says how the node is at the moment. The control plane of each cluster sets such taints itself. */
export function isAboutState({ key }: Pick<DeepReadonly<Taint>, "key">): boolean {
  return statePrefixes.some((prefix) => key.startsWith(prefix));
}

function isVirtual({ metadata, spec }: DeepReadonly<Node>): boolean {
  return metadata?.labels?.["type"] === "virtual-kubelet" || (spec?.taints ?? []).some(({ key }) => key === virtualNodeTaint);
}

function hardTaints({ spec }: DeepReadonly<Node>): readonly DeepReadonly<Taint>[] {
  return (spec?.taints ?? []).filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute");
}

function toSelected(node: DeepReadonly<Node>): SelectedNode {
  const name = node.metadata?.name ?? "";
  const problem = problemOf(node);
  if (problem !== undefined) return { name, node, state: "unready", problem };
  return { name, node, state: node.spec?.unschedulable ? "cordoned" : "ready", problem };
}

/** Why the far node is not ready, in its own words if it has some; `undefined` if it is. */
export function readinessProblem({ status }: DeepReadonly<Node>): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" ? undefined : ready?.message || ready?.reason || "has not reported that it is ready";
}

function problemOf(node: DeepReadonly<Node>): string | undefined {
  if (node.metadata?.deletionTimestamp !== undefined) return "is being deleted";
  const unready = readinessProblem(node);
  if (unready !== undefined) return unready;
  const taint = hardTaints(node).find((each) => isAboutState(each) && each.key !== cordonTaint && each.key !== memoryPressureTaint);
  return taint && `has the taint ${taint.key}`;
}
