import { messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Node, Pod } from "@virtual-kubelet/kube-client";
import { matchesNodeAffinity } from "./node-affinity.ts";
import { NodeUsage } from "./node-usage.ts";
import { podRequests, readAmounts, type ResourceAmounts } from "./pod-requests.ts";
import { toleratesTaint } from "./tolerations.ts";

/** Whether a node takes a pod; if not, the reason and message its status gets. */
export type Admission = { readonly admitted: true } | { readonly admitted: false; readonly reason: string; readonly message: string };

/** What {@link admitPod} looks at besides the pod. */
export interface AdmissionContext {
  /** The registered node: its labels, taints, operating system and allocatable resources count. */
  readonly node: DeepReadonly<Node>;
  /** What the pods admitted before use. The pod itself may be among them. */
  readonly usage: NodeUsage;
}

/**
 * Decides as a kubelet whether the node takes the pod, with a kubelet's reasons and wording. The checks come in its
 * order, and the first that fails is told. Unlike a kubelet it knows neither host ports nor sysctls, as the pods of a virtual
 * node need not share a host (a provider whose pods do refuses them with a TerminalError), and evicts nothing in favour of
 * critical pods.
 * Source: kubernetes v1.36.3 pkg/kubelet/lifecycle/predicate.go and pkg/scheduler/framework/plugins/noderesources/fit.go.
 */
export function admitPod(pod: DeepReadonly<Pod>, context: AdmissionContext): Admission {
  try {
    return (
      checkOperatingSystem(pod, context.node) ?? checkResources(pod, context) ?? checkPlacement(pod, context.node) ?? { admitted: true }
    );
  } catch (error) {
    return refuse("UnexpectedAdmissionError", `Update plugin resources failed due to ${messageOf(error)}, which is unexpected.`);
  }
}

function checkOperatingSystem(pod: DeepReadonly<Pod>, node: DeepReadonly<Node>): Admission | undefined {
  const nodeOS = node.metadata?.labels?.["kubernetes.io/os"] ?? node.status?.nodeInfo?.operatingSystem ?? "linux";
  const podLabel = pod.metadata?.labels?.["kubernetes.io/os"];
  if (podLabel !== undefined && podLabel !== nodeOS) {
    return refuse("PodOSSelectorNodeLabelDoesNotMatch", "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label");
  }
  const podOS = pod.spec?.os?.name;
  return podOS !== undefined && podOS !== nodeOS
    ? refuse("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    : undefined;
}

function checkResources(pod: DeepReadonly<Pod>, { node, usage }: AdmissionContext): Admission | undefined {
  const uid = pod.metadata?.uid ?? "";
  const capacity = readAmounts(node.status?.allocatable ?? node.status?.capacity);
  const others = BigInt(usage.podsBeside(uid));
  if (others + 1n > amountOf(capacity, "pods")) return outOf("pods", 1n, others, amountOf(capacity, "pods"));

  const requests = podRequests(pod);
  const firstNames = ["cpu", "memory", "ephemeral-storage"];
  const otherNames = [...requests.keys()].filter((name) => !firstNames.includes(name) && isCounted(name, capacity));
  for (const name of [...firstNames, ...otherNames]) {
    const requested = amountOf(requests, name);
    const used = usage.usedBeside(uid, name);
    const allocatable = amountOf(capacity, name);
    if (requested > 0n && requested > allocatable - used) return outOf(name, requested, used, allocatable);
  }
  return undefined;
}

/** Extended resources a node does not know are the cluster's; other names that are no node resource do not count. */
function isCounted(name: string, capacity: ResourceAmounts): boolean {
  if (name.startsWith("hugepages-") || name.startsWith("attachable-volumes-")) return true;
  return name.includes("/") && (capacity.has(name) || name.split("/", 1)[0]?.endsWith("kubernetes.io") === true);
}

function checkPlacement(pod: DeepReadonly<Pod>, node: DeepReadonly<Node>): Admission | undefined {
  if (!matchesNodeAffinity(pod, node)) return failPredicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  const { nodeName } = pod.spec ?? {};
  if (nodeName && nodeName !== node.metadata?.name) return failPredicate("NodeName", "node(s) didn't match the requested node name");
  const repelling = (node.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
  return repelling.every((taint) => toleratesTaint(pod, taint))
    ? undefined
    : failPredicate("TaintToleration", "node(s) had taints that the pod didn't tolerate");
}

function amountOf(amounts: ResourceAmounts, name: string): bigint {
  return amounts.get(name) ?? 0n;
}

function outOf(resource: string, requested: bigint, used: bigint, capacity: bigint): Admission {
  const message = `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return refuse(`OutOf${resource}`, message);
}

function failPredicate(name: string, why: string): Admission {
  return refuse(name, `Predicate ${name} failed: ${why}`);
}

function refuse(reason: string, message: string): Admission {
  return { admitted: false, reason, message: `Pod was rejected: ${message}` };
}
