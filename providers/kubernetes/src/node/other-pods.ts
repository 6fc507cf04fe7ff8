import { isForbidden } from "@virtual-kubelet/errdefs";
import { resources, type DeepReadonly, type KubeClient, type Pod, type Store } from "@virtual-kubelet/kube-client";
import { addQuantities, parseQuantity, podRequests, type Quantity, type ResourceQuantities } from "@virtual-kubelet/kubernetes";
import { isOwnedBy, labelValue, tagLabels, type FarOwner } from "../identity/tags.ts";
import type { RequestsByNode } from "./node-resources.ts";

/** Pods of one answer. They are added up and forgotten, so that a far cluster with many pods costs no memory. */
const pageSize = 500;

/** Bound of the pages that are read, against a server whose pages form a circle. */
const maxPages = 1_000;

/** What {@link readOthersRequests} reads. */
export interface OtherPodsSource {
  readonly client: Pick<KubeClient, "list">;
  /** Far pods of the home cluster; they may belong to other virtual nodes. */
  readonly pods: Pick<Store<Pod>, "list">;
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
  const { client, pods, owner, farNode } = source;
  const total = new Map<string, Map<string, Quantity>>();
  const onNode = farNode === undefined ? "spec.nodeName!=" : `spec.nodeName=${farNode}`;
  const query = {
    labelSelector: `${tagLabels.cluster}!=${labelValue(owner.clusterId)}`,
    fieldSelector: `${onNode},status.phase!=Succeeded,status.phase!=Failed`,
  };
  try {
    let next: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const { items, continue: token } = await client.list(resources.pods, { ...query, limit: pageSize, continue: next }, { signal });
      for (const pod of items) add(total, pod);
      next = token;
      if (next === undefined) break;
    }
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
  for (const pod of pods.list()) if (!isOwnedBy(pod.metadata, owner)) add(total, pod);
  return total;
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
