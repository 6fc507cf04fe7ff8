import { messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Node, Pod } from "@virtual-kubelet/kube-client";
import { matchesNodeAffinity, toleratesTaint, type ResourceAmounts } from "@virtual-kubelet/kubernetes";
import { NodeUsage } from "./node-usage.ts";
import { listedAmounts, requestedAmounts } from "./requested-amounts.ts";
import type { CoreReason } from "../../reasons/core-reasons.ts";

/** Result of admission; a rejection has the reason and message for the pod's status. */
export type Admission = { readonly admitted: true } | { readonly admitted: false; readonly reason: string; readonly message: string };

export interface AdmissionContext {
  /** The registered node; its labels, taints, operating system and allocatable resources are used. */
  readonly node: DeepReadonly<Node>;
  /** Resources in use by the pods admitted before, possibly including this pod. */
  readonly usage: NodeUsage;
}

/**
 * Decides whether the node admits the pod, with a kubelet's reasons and wording. The checks come in a kubelet's
 * order, and the first failure is reported. Unlike a kubelet it checks neither host ports nor sysctls, because the pods of a virtual
 * node may run on different hosts (a provider whose pods share one refuses them with a TerminalError), and it evicts no pods in favor of
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

/** Reason why a resize is not applied, for the condition PodResizePending. */
export interface ResizeHindrance {
  /** `Deferred`: it would fit if other pods used less. `Infeasible`: it never fits. */
  readonly reason: "Deferred" | "Infeasible";
  readonly message: string;
}

/**
 * Checks whether the node has room for a running pod with its new resources; with a kubelet's wording.
 * Source: kubernetes v1.35.4 and v1.36.3 pkg/kubelet/allocation. Since 1.36 the API server refuses a resize that can never fit.
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
  const requests = requestedAmounts(pod.spec);
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

/** A resource of which the node has less than a pod requests. */
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
  return listedAmounts(status?.allocatable ?? status?.capacity);
}

/** Returns the first resource, in a kubelet's order, that the node lacks. */
function lackingResource(pod: DeepReadonly<Pod>, { node, usage }: AdmissionContext): Lack | undefined {
  const uid = pod.metadata?.uid ?? "";
  const capacity = capacityOf(node);
  const others = BigInt(usage.podsBeside(uid));
  const places = amountOf(capacity, "pods");
  if (others + 1n > places) return { resource: "pods", requested: 1n, used: others, capacity: places };

  const requests = requestedAmounts(pod.spec);
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

/** Extended resources that the node does not list belong to the cluster, and other unknown names are not node resources. */
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

function failPredicate(name: CoreReason, why: string): Admission {
  return refuse(name, `Predicate ${name} failed: ${why}`);
}

function refuse(reason: string, message: string): Admission {
  return { admitted: false, reason, message: `Pod was rejected: ${message}` };
}
