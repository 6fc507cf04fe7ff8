import type { NodeDescription } from "@virtual-kubelet/core";
import type { DeepReadonly, Node, ResourceQuota } from "@virtual-kubelet/kube-client";
import { formatQuantity, formatResources, parseQuantity, zeroQuantity, type ResourceQuantities } from "@virtual-kubelet/kubernetes";
import { farNodesCondition } from "../conditions.ts";
import type { KubernetesConfig } from "../config.ts";
import { neededResources, readsFarNodes } from "../config/node.ts";
import { commonFacts } from "./common-facts.ts";
import { foreignTaints, isAboutState, matchingNodes, selectFarNodes, type SelectedNode } from "./far-nodes.ts";
import { largestOf, sumResources, type RequestsByNode } from "./node-resources.ts";
import { quotaResources } from "./quota-resources.ts";
import type { FarNodesReason } from "./far-nodes-reasons.ts";

/** What is known of the far cluster when a virtual node is described. */
export interface FarFacts {
  /** All far nodes; `undefined` if they may not be listed. */
  readonly nodes: readonly DeepReadonly<Node>[] | undefined;
  /** What pods of others request; `undefined` if it is not known or not wanted. */
  readonly others: RequestsByNode | undefined;
  /** Quotas of the only far namespace; `undefined` if there are several, or they may not be listed. */
  readonly quotas: readonly DeepReadonly<ResourceQuota>[] | undefined;
  /** The only far namespace; `undefined` if there may be several. */
  readonly namespace: string | undefined;
}

/** Taint of a virtual node whose only far node is cordoned. `node.kubernetes.io/unschedulable` belongs to the home control plane. */
const farCordonTaint = "virtual-kubelet.io/far-node-cordoned";

/** Annotation with the largest allocatable of a single far node: a larger pod waits for ever, whatever the sum. */
const largestAnnotation = "virtual-kubelet.io/largest-far-node";

/** Resources that every node has. Core would fill in its default for one that is left out. */
const nodeResources = ["cpu", "memory", "pods", "ephemeral-storage"];

type Config = Pick<KubernetesConfig, "node" | "scheduling">;
type Condition = NonNullable<NodeDescription["conditions"]>[number] & { readonly reason: FarNodesReason };

/** Describes the virtual node. What is not known is zero and named in the condition, because a made-up number would attract pods. */
export function describeNode(facts: FarFacts, config: Config): NodeDescription {
  const { scheduling, node } = config;
  const selected = selectedNodes(facts, config);
  const { capacity, allocatable, problem } = resourcesOf(facts, selected, config);
  const { annotations, ...common } = commonFacts(selected ?? [], node.labels);
  const bound = scheduling.farNode === undefined ? undefined : selected?.[0];
  const largest = largestOf(selected ?? [], ["cpu", "memory"]);
  const summary = summaryOf(facts, selected, config, problem);
  return {
    ...common,
    annotations: { ...annotations, ...(largest.size > 0 && !bound && { [largestAnnotation]: written(largest) }) },
    capacity: formatResources(capacity),
    allocatable: formatResources(allocatable),
    ...(bound
      ? { conditions: [...mirroredConditions(bound), ...(problem === undefined ? [] : [summary])], taints: mirroredTaints(bound, config) }
      : { conditions: [summary] }),
  };
}

/** Why the capacity is not known, with the remedy; `undefined` if it is. */
export function capacityProblem(facts: FarFacts, config: Config): string | undefined {
  return resourcesOf(facts, selectedNodes(facts, config), config).problem;
}

/** The far nodes that the virtual node stands for; `undefined` if they may not be listed. */
export function selectedNodes({ nodes }: FarFacts, { scheduling }: Config): readonly SelectedNode[] | undefined {
  if (!nodes) return undefined;
  // A virtual node for a single far node shows its taints instead of leaving it out.
  return scheduling.farNode === undefined ? selectFarNodes(nodes, scheduling) : matchingNodes(nodes, scheduling);
}

interface Resources {
  readonly capacity: ResourceQuantities;
  readonly allocatable: ResourceQuantities;
  readonly problem: string | undefined;
}

function resourcesOf(facts: FarFacts, selected: readonly SelectedNode[] | undefined, { node, scheduling }: Config): Resources {
  const fixed = typeof node.capacity === "string" ? {} : node.capacity;
  const found = foundResources(facts, selected, { node, scheduling });
  const quantities = new Map(Object.entries(fixed).map(([name, text]) => [name, parseQuantity(text)]));
  const known = new Map([...found.capacity, ...quantities]);
  const missing = neededResources.filter((name) => !known.has(name));
  const zeros = new Map(nodeResources.map((name) => [name, zeroQuantity]));
  return {
    capacity: new Map([...zeros, ...known]),
    allocatable: new Map([...zeros, ...found.allocatable, ...quantities]),
    problem: missing.length === 0 ? undefined : `the capacity for ${missing.join(", ")} is not known: ${found.why}; ${remedyFor(missing)}`,
  };
}

interface Found {
  readonly capacity: ResourceQuantities;
  readonly allocatable: ResourceQuantities;
  /** Why something may be missing. */
  readonly why: string;
}

const nothing: ResourceQuantities = new Map();

function foundResources(facts: FarFacts, selected: readonly SelectedNode[] | undefined, { node, scheduling }: Config): Found {
  const forbidden = "the far nodes may not be listed";
  if (node.capacity !== "quota") {
    if (selected) {
      // The state of a single far node is shown by taint and readiness.
      const counted = scheduling.farNode === undefined ? selected : selected.map((each) => ({ ...each, state: "ready" as const }));
      const sum = sumResources(counted, facts.others ?? new Map());
      // No node at all has no capacity; that is known.
      const none = new Map(nodeResources.map((name) => [name, zeroQuantity]));
      return { capacity: new Map([...none, ...sum.capacity]), allocatable: new Map([...none, ...sum.allocatable]), why: "" };
    }
    if (node.capacity === "nodes") return { capacity: nothing, allocatable: nothing, why: forbidden };
  }
  const also = node.capacity === "quota" ? "" : `${forbidden}, and `;
  if (facts.namespace === undefined)
    return { capacity: nothing, allocatable: nothing, why: `${also}quotas count only with namespaces.mode one` };
  if (!facts.quotas)
    return { capacity: nothing, allocatable: nothing, why: `${also}the quotas of namespace ${facts.namespace} may not be listed` };
  const { capacity, ignored } = quotaResources(facts.quotas);
  const reasons = ignored.length === 0 ? "" : ` (not counted: ${ignored.join("; ")})`;
  return { capacity, allocatable: capacity, why: `${also}the quotas of namespace ${facts.namespace} do not limit it${reasons}` };
}

function remedyFor(missing: readonly string[]): string {
  const example = Object.fromEntries(missing.map((name) => [name, name === "memory" ? "256Gi" : name === "pods" ? "500" : "64"]));
  return `grant the rights that virtual-kubelet manifests far prints, or set node.capacity, such as ${JSON.stringify(example)}`;
}

function summaryOf(
  facts: FarFacts,
  selected: readonly SelectedNode[] | undefined,
  { node, scheduling }: Config,
  problem: string | undefined,
): Condition {
  const type = farNodesCondition;
  if (problem !== undefined) return { type, status: "False", reason: "CapacityUnknown", message: problem };
  if (!selected) {
    const why = readsFarNodes({ node, scheduling }) ? "may not be listed" : "are not looked at, because node.capacity needs none of them";
    return { type, status: "Unknown", reason: "FarNodesNotListed", message: `the far nodes ${why}` };
  }
  if (selected.length === 0) return { type, status: "False", reason: "NoFarNodeSelected", message: nothingSelected(facts, scheduling) };
  const ready = selected.filter(({ state }) => state === "ready");
  const unseen = node.others === "subtract" && !facts.others ? ["what others request is not known: their pods may not be listed"] : [];
  const message = [`${ready.length} of ${selected.length} selected far nodes take pods`, ...exceptions(selected), ...unseen].join("; ");
  return ready.length > 0
    ? { type, status: "True", reason: "FarNodesReady", message }
    : { type, status: "False", reason: "NoFarNodeReady", message };
}

/** Names shown of the far nodes in one state. */
const maxNames = 5;

function exceptions(selected: readonly SelectedNode[]): readonly string[] {
  return (["unready", "cordoned"] as const).flatMap((state) => {
    const names = selected
      .filter((each) => each.state === state)
      .map(({ name, problem }) => (problem === undefined ? name : `${name} (${problem})`));
    const shown = names.slice(0, maxNames).join(", ");
    const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : "";
    return names.length === 0 ? [] : [`${names.length} ${state === "unready" ? "not ready" : "cordoned"}: ${shown}${more}`];
  });
}

function nothingSelected({ nodes = [] }: FarFacts, scheduling: Config["scheduling"]): string {
  const matching = matchingNodes(nodes, scheduling);
  const selector = Object.entries(scheduling.nodeSelector).map(([key, value]) => `${key}=${value}`);
  if (matching.length === 0) {
    if (scheduling.farNode !== undefined) return `the far cluster has no node ${scheduling.farNode}`;
    const wanted =
      selector.length === 0 ? "that is not a virtual node" : `with the labels ${selector.join(",")} of scheduling.nodeSelector`;
    return `the far cluster has no node ${wanted}`;
  }
  const taints = new Set(matching.flatMap(({ node }) => foreignTaints(node, scheduling).map(({ key, effect }) => `${key}:${effect}`)));
  return `scheduling.tolerations do not tolerate the taints of the ${matching.length} matching far nodes: ${[...taints].join(", ")}`;
}

function mirroredConditions({ node }: SelectedNode): NonNullable<NodeDescription["conditions"]> {
  const conditions = (node.status?.conditions ?? []).filter(({ type }) => type !== "Ready");
  return conditions.map(({ type, status, reason = "", message = "" }) => ({
    type,
    status: status === "True" || status === "False" ? status : "Unknown",
    reason,
    message,
  }));
}

/** The home control plane itself sets taints about a node's state, from the conditions. */
function mirroredTaints({ node }: SelectedNode, { scheduling }: Config): NonNullable<NodeDescription["taints"]> {
  const taints = foreignTaints(node, scheduling).filter((taint) => !isAboutState(taint));
  return [
    ...taints.map(({ key, value, effect }) => ({ key, value, effect })),
    ...(node.spec?.unschedulable ? [{ key: farCordonTaint, effect: "NoSchedule" }] : []),
  ];
}

function written(quantities: ResourceQuantities): string {
  return [...quantities].map(([name, quantity]) => `${name}=${formatQuantity(quantity)}`).join(",");
}
