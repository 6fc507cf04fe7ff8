import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { admitPod } from "./admission.ts";
import type { NodeUsage } from "./node-usage.ts";
import type { PodOptions, RegisteredNode } from "../../virtual-node/options.ts";
import { refusalMessage } from "../../policy/check-policy.ts";
import { unsupportedPolicy } from "../../unsupported/given-pods.ts";
import type { ProviderLimits } from "../../unsupported/provider-limits.ts";
import { listFields, unsupportedFields } from "../../unsupported/unsupported-fields.ts";

/** Whether a pod may be started, and if not what becomes of it. */
export type StartDecision =
  | { readonly kind: "start" }
  /** Not ours to run: left Pending without a word. */
  | { readonly kind: "ignore" }
  /** Pending, until its spec or the provider changes. */
  | { readonly kind: "wait"; readonly reason: string; readonly message: string }
  /** Failed. */
  | { readonly kind: "reject"; readonly reason: string; readonly message: string };

/** What {@link decideStart} looks at besides the pod. */
export interface StartContext {
  readonly node: RegisteredNode;
  /** What the node's other pods use. */
  readonly usage: NodeUsage;
  readonly limits: ProviderLimits;
  readonly providerName: string;
  readonly podOptions: PodOptions;
  /** The pod as the provider would get it. */
  readonly given: DeepReadonly<Pod>;
  /** Whether the pod passed admission before. */
  readonly admitted: boolean;
}

/**
 * Decides whether a pod may be started: what the node does with pods of DaemonSets first, then what a kubelet admits, then what the
 * provider's policy allows, then what the provider can do. An admitted pod is not asked again, as with a kubelet.
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
