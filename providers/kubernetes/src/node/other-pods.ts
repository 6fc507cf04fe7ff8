import { isForbidden } from "@virtual-kubelet/errdefs";
import { resources, type DeepReadonly, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { addQuantities, parseQuantity, podRequests, type Quantity, type ResourceQuantities } from "@virtual-kubelet/kubernetes";
import { labelValue, tagLabels, type FarOwner } from "../identity/tags.ts";
import type { RequestsByNode } from "./node-resources.ts";

/** Pods of one answer. They are added up and forgotten, so that a far cluster with many pods costs no memory. */
const pageSize = 500;

/** Bound of the pages that are read, against a server whose pages form a circle. */
const maxPages = 1_000;

/** What {@link readOthersRequests} reads. */
export interface OtherPodsSource {
  readonly client: Pick<KubeClient, "list">;
  readonly owner: FarOwner;
  /** The only far node whose pods count; `undefined`: all. */
  readonly farNode: string | undefined;
}

/**
 * Adds up, by far node, what pods that do not belong to the virtual node request: those of others, and those of other virtual nodes.
 *
 * @returns `undefined` if the pods of all far namespaces may not be listed
 */
export async function readOthersRequests(source: OtherPodsSource, signal: AbortSignal): Promise<RequestsByNode | undefined> {
  const { client, owner, farNode } = source;
  const total = new Map<string, Map<string, Quantity>>();
  const onNode = farNode === undefined ? "spec.nodeName!=" : `spec.nodeName=${farNode}`;
  const fieldSelector = `${onNode},status.phase!=Succeeded,status.phase!=Failed`;
  try {
    for (const labelSelector of othersSelectors(owner))
      for await (const pod of everyPod(client, { labelSelector, fieldSelector }, signal)) add(total, pod);
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
  return total;
}

/**
 * Label selectors that together select all pods without the owner's labels: those of other clusters or none, and of other nodes of the home
 * cluster, which may run their pods in another far namespace.
 */
function othersSelectors({ clusterId, nodeName }: FarOwner): readonly string[] {
  const cluster = labelValue(clusterId);
  return [`${tagLabels.cluster}!=${cluster}`, `${tagLabels.cluster}=${cluster},${tagLabels.node}!=${labelValue(nodeName)}`];
}

async function* everyPod(
  client: Pick<KubeClient, "list">,
  query: { readonly labelSelector: string; readonly fieldSelector: string },
  signal: AbortSignal,
): AsyncGenerator<DeepReadonly<Pod>> {
  let next: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const { items, continue: token } = await client.list(resources.pods, { ...query, limit: pageSize, continue: next }, { signal });
    yield* items;
    next = token;
    if (next === undefined) return;
  }
}

const onePod = parseQuantity("1");

function add(total: Map<string, Map<string, Quantity>>, { spec, status }: DeepReadonly<Pod>): void {
  const nodeName = spec?.nodeName;
  if (!nodeName || status?.phase === "Succeeded" || status?.phase === "Failed") return;
  const ofNode = total.get(nodeName) ?? new Map<string, Quantity>();
  total.set(nodeName, ofNode);
  for (const [name, quantity] of [...requestsOf(spec), ["pods", onePod] as const]) {
    const known = ofNode.get(name);
    ofNode.set(name, known ? addQuantities(known, quantity) : quantity);
  }
}

function requestsOf(spec: DeepReadonly<Pod>["spec"]): ResourceQuantities {
  try {
    return podRequests(spec);
  } catch {
    // The API server refuses such a pod, so that another server wrote this one.
    return new Map();
  }
}
