import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { admitPod } from "./admission.ts";
import type { NodeUsage } from "./node-usage.ts";
import type { PodOptions, RegisteredNode } from "../options.ts";
import { refusalMessage } from "../policy/check-policy.ts";
import { unsupportedPolicy } from "../provider/given-pod.ts";
import type { ProviderLimits } from "../provider/provider-limits.ts";
import { listFields, unsupportedFields } from "../provider/unsupported.ts";

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
export interface StartGate {
  readonly node: RegisteredNode;
  /** What the node's other pods use. */
  readonly usage: NodeUsage;
  readonly limits: ProviderLimits;
  readonly providerName: string;
  readonly options: PodOptions;
  /** The pod as the provider would get it. */
  readonly given: DeepReadonly<Pod>;
  /** Whether the pod passed admission before. */
  readonly admitted: boolean;
}

/**
 * Decides whether a pod may be started: what the node does with pods of DaemonSets first, then what a kubelet admits, then what the
 * provider's policy allows, then what the provider can do. An admitted pod is not asked again, as with a kubelet.
 */
export function decideStart(pod: DeepReadonly<Pod>, gate: StartGate): StartDecision {
  const { options } = gate;
  if (isDaemonSetPod(pod)) {
    if (options.daemonSets === "ignore") return { kind: "ignore" };
    if (options.daemonSets === "reject") {
      return {
        kind: "reject",
        reason: "DaemonSetRejected",
        message: `Pod was rejected: node ${gate.node.metadata?.name} runs no pods of DaemonSets`,
      };
    }
  }
  if (!gate.admitted) {
    const admission = admitPod(pod, { node: gate.node, usage: gate.usage });
    if (!admission.admitted) return { kind: "reject", reason: admission.reason, message: admission.message };
  }
  const { capabilities, judge } = gate.limits;
  const verdict = judge?.(gate.given);
  if (verdict?.kind === "rejected") return { kind: "reject", reason: verdict.reason, message: verdict.message };
  const kind = unsupportedPolicy(options.onUnsupported).default === "fail" ? "reject" : "wait";
  const reason = "ProviderUnsupported";
  if (verdict?.kind === "refused") return { kind, reason, message: refusalMessage(verdict.refusals) };
  const unsupported = unsupportedFields(gate.given, capabilities, { requireToken: options.automountToken === "require" });
  if (unsupported.length === 0) return { kind: "start" };
  return { kind, reason, message: `provider ${gate.providerName} does not support ${listFields(unsupported)}` };
}

function isDaemonSetPod(pod: DeepReadonly<Pod>): boolean {
  return (pod.metadata?.ownerReferences ?? []).some((owner) => owner.controller === true && owner.kind === "DaemonSet");
}
