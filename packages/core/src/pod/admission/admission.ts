import { messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Node, Pod } from "@virtual-kubelet/kube-client";
import {
  matchesNodeAffinity,
  podRequests,
  toAmounts,
  readAmounts,
  toleratesTaint,
  type ResourceAmounts,
} from "@virtual-kubelet/kubernetes";
import { NodeUsage } from "./node-usage.ts";

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

/** Why a resize is not carried out, as the condition PodResizePending has it. */
export interface ResizeHindrance {
  /** `Deferred`: it would fit if other pods used less. `Infeasible`: it never fits. */
  readonly reason: "Deferred" | "Infeasible";
  readonly message: string;
}

/**
 * Whether the node has room for a running pod with the resources that it now asks for; with a kubelet's wording.
 * Source: kubernetes v1.35.4 and v1.36.3 pkg/kubelet/allocation. Since 1.36 the API server refuses what never fits.
 *
 * @returns `undefined` if it fits
 */
export function hindersResize(pod: DeepReadonly<Pod>, context: AdmissionContext): ResizeHindrance | undefined {
  try {
    return exceedsNode(pod, context.node) ?? exceedsRoom(pod, context);
  } catch (error) {
    return { reason: "Infeasible", message: messageOf(error) };
  }
}

function exceedsNode(pod: DeepReadonly<Pod>, node: DeepReadonly<Node>): ResizeHindrance | undefined {
  const requests = toAmounts(podRequests(pod.spec));
  const capacity = capacityOf(node);
  const name = ["memory", "cpu"].find((each) => amountOf(requests, each) > amountOf(capacity, each));
  if (name === undefined) return undefined;
  const amounts = `requested: ${amountOf(requests, name)}, capacity: ${amountOf(capacity, name)}`;
  return { reason: "Infeasible", message: `Node didn't have enough capacity: ${name}, ${amounts}` };
}

function exceedsRoom(pod: DeepReadonly<Pod>, context: AdmissionContext): ResizeHindrance | undefined {
  const lack = lackingResource(pod, context);
  return lack && { reason: "Deferred", message: lackMessage(lack) };
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

/** A resource of which the node has less left than a pod needs. */
interface Lack {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

function checkResources(pod: DeepReadonly<Pod>, context: AdmissionContext): Admission | undefined {
  const lack = lackingResource(pod, context);
  return lack && refuse(`OutOf${lack.resource}`, lackMessage(lack));
}

function lackMessage({ resource, requested, used, capacity }: Lack): string {
  return `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
}

function capacityOf({ status }: DeepReadonly<Node>): ResourceAmounts {
  return readAmounts(status?.allocatable ?? status?.capacity);
}

/** The first resource, in a kubelet's order, that the node lacks. */
function lackingResource(pod: DeepReadonly<Pod>, { node, usage }: AdmissionContext): Lack | undefined {
  const uid = pod.metadata?.uid ?? "";
  const capacity = capacityOf(node);
  const others = BigInt(usage.podsBeside(uid));
  const places = amountOf(capacity, "pods");
  if (others + 1n > places) return { resource: "pods", requested: 1n, used: others, capacity: places };

  const requests = toAmounts(podRequests(pod.spec));
  const firstNames = ["cpu", "memory", "ephemeral-storage"];
  const otherNames = [...requests.keys()].filter((name) => !firstNames.includes(name) && isCounted(name, capacity));
  for (const name of [...firstNames, ...otherNames]) {
    const requested = amountOf(requests, name);
    const used = usage.usedBeside(uid, name);
    const allocatable = amountOf(capacity, name);
    if (requested > 0n && requested > allocatable - used) return { resource: name, requested, used, capacity: allocatable };
  }
  return undefined;
}

/** Extended resources a node does not know are the cluster's; other names that are no node resource do not count. */
function isCounted(name: string, capacity: ResourceAmounts): boolean {
  if (name.startsWith("hugepages-") || name.startsWith("attachable-volumes-")) return true;
  return name.includes("/") && (capacity.has(name) || name.split("/", 1)[0]?.endsWith("kubernetes.io") === true);
}

function checkPlacement(pod: DeepReadonly<Pod>, node: DeepReadonly<Node>): Admission | undefined {
  if (!matchesNodeAffinity(pod.spec, node)) return failPredicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  const { nodeName } = pod.spec ?? {};
  if (nodeName && nodeName !== node.metadata?.name) return failPredicate("NodeName", "node(s) didn't match the requested node name");
  const repelling = (node.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
  return repelling.every((taint) => toleratesTaint(pod.spec?.tolerations, taint))
    ? undefined
    : failPredicate("TaintToleration", "node(s) had taints that the pod didn't tolerate");
}

function amountOf(amounts: ResourceAmounts, name: string): bigint {
  return amounts.get(name) ?? 0n;
}

function failPredicate(name: string, why: string): Admission {
  return refuse(name, `Predicate ${name} failed: ${why}`);
}

function refuse(reason: string, message: string): Admission {
  return { admitted: false, reason, message: `Pod was rejected: ${message}` };
}
