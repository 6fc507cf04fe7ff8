import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { RegisteredNode } from "../../virtual-node/options.ts";
import type { Capabilities } from "../../provider/capabilities.ts";
import { hindersResize, type ResizeHindrance } from "../admission/admission.ts";
import type { NodeUsage } from "../admission/node-usage.ts";
import { needsUpdate } from "../state/pod-changes.ts";
import { lastGiven, type PodState } from "../state/pod-state.ts";
import { isResized, showsPendingResize, withResourcesOf, type PodResize } from "./resize.ts";

/** Decision on a change of a running pod that may include its resources. */
export type ResizeDecision =
  /** The whole change is passed to the provider. `reserves` if the new resources have to be counted from now on. */
  | { readonly kind: "tell"; readonly reserves: boolean }
  /**
   * The resize is pending. `given` is the pod without it, `undefined` if it is not known what the provider runs; `isAll` if there is
   * no other change to pass.
   */
  | {
      readonly kind: "hold";
      readonly resize: Extract<PodResize, { kind: "pending" }>;
      readonly given: DeepReadonly<Pod> | undefined;
      readonly isAll: boolean;
    };

export interface ResizeContext {
  readonly node: RegisteredNode | undefined;
  /** Resources in use by the node's other pods. */
  readonly usage: NodeUsage;
  readonly capabilities: Capabilities;
  readonly providerName: string;
}

/** Decides whether the node has room for a running pod's new resources. A resize that was passed to the provider has its room reserved. */
export function decideResize(pod: DeepReadonly<Pod>, state: PodState, context: ResizeContext): ResizeDecision {
  if (!isNewResize(pod, state)) return { kind: "tell", reserves: false };
  const hindrance = hindranceOf(pod, context);
  if (!hindrance) return { kind: "tell", reserves: true };
  const applied = lastGiven(state.backend);
  const given = applied?.spec ? withResourcesOf(pod, applied) : undefined;
  return {
    kind: "hold",
    resize: { kind: "pending", ...hindrance, generation: pod.metadata?.generation, refused: false },
    given,
    isAll: !applied || !given || !needsUpdate(applied, given),
  };
}

function hindranceOf(pod: DeepReadonly<Pod>, { node, usage, capabilities, providerName }: ResizeContext): ResizeHindrance | undefined {
  if (!capabilities.resize)
    return { reason: "Infeasible", message: `provider ${providerName} does not support changes of a running pod's resources` };
  return node && hindersResize(pod, { node, usage });
}

/** Whether the resize has not been passed to the provider yet. After a restart only the status shows that. */
function isNewResize(pod: DeepReadonly<Pod>, { backend, resize }: PodState): boolean {
  const applied = lastGiven(backend);
  if (applied?.spec) return isResized(applied, pod);
  return resize ? resize.kind === "pending" : showsPendingResize(pod);
}

/** Whether an event has reported the pending resize; like a kubelet, once for each reason and generation. */
export function isToldOf(before: PodResize | undefined, after: Extract<PodResize, { kind: "pending" }>): boolean {
  return before?.kind === "pending" && before.reason === after.reason && before.generation === after.generation;
}
