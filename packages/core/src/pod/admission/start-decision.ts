import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { admitPod } from "./admission.ts";
import type { NodeUsage } from "./node-usage.ts";
import type { PodOptions, RegisteredNode } from "../../virtual-node/options.ts";
import { refusalMessage } from "../../policy/check-policy.ts";
import { unsupportedPolicy } from "../../unsupported/given-pods.ts";
import type { ProviderLimits } from "../../unsupported/provider-limits.ts";
import { listFields, unsupportedFields } from "../../unsupported/unsupported-fields.ts";

export type StartDecision =
  | { readonly kind: "start" }
  /** The pod stays Pending without a status of ours. */
  | { readonly kind: "ignore" }
  /** The pod is Pending until its spec or the provider changes. */
  | { readonly kind: "wait"; readonly reason: string; readonly message: string }
  /** The pod is Failed. */
  | { readonly kind: "reject"; readonly reason: string; readonly message: string };

export interface StartContext {
  readonly node: RegisteredNode;
  /** Resources in use by the node's other pods. */
  readonly usage: NodeUsage;
  readonly limits: ProviderLimits;
  readonly providerName: string;
  readonly podOptions: PodOptions;
  /** The pod as it would be passed to the provider. */
  readonly given: DeepReadonly<Pod>;
  /** Whether the pod has passed admission. */
  readonly admitted: boolean;
}

/**
 * Decides whether a pod may be started. The checks in order: the node's setting for DaemonSets, a kubelet's admission, the
 * provider's policy, the provider's capabilities. As with a kubelet, admission is decided once.
 */
export function decideStart(pod: DeepReadonly<Pod>, context: StartContext): StartDecision {
  const { podOptions } = context;
  if (isDaemonSetPod(pod)) {
    if (podOptions.daemonSets === "ignore") return { kind: "ignore" };
    if (podOptions.daemonSets === "reject") {
      return {
        kind: "reject",
        reason: "DaemonSetRejected",
        message: `Pod was rejected: node ${context.node.metadata?.name} runs no pods of DaemonSets`,
      };
    }
  }
  if (!context.admitted) {
    const admission = admitPod(pod, { node: context.node, usage: context.usage });
    if (!admission.admitted) return { kind: "reject", reason: admission.reason, message: admission.message };
  }
  const { capabilities, judge } = context.limits;
  const verdict = judge?.(context.given);
  if (verdict?.kind === "rejected") return { kind: "reject", reason: verdict.reason, message: verdict.message };
  const kind = unsupportedPolicy(podOptions.onUnsupported).default === "fail" ? "reject" : "wait";
  const reason = "ProviderUnsupported";
  if (verdict?.kind === "refused") return { kind, reason, message: refusalMessage(verdict.refusals) };
  const unsupported = unsupportedFields(context.given, capabilities, { requireToken: podOptions.automountToken === "require" });
  if (unsupported.length === 0) return { kind: "start" };
  return { kind, reason, message: `provider ${context.providerName} does not support ${listFields(unsupported)}` };
}

function isDaemonSetPod(pod: DeepReadonly<Pod>): boolean {
  return (pod.metadata?.ownerReferences ?? []).some((owner) => owner.controller === true && owner.kind === "DaemonSet");
}
