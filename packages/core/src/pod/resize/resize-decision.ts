import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { RegisteredNode } from "../../virtual-node/options.ts";
import type { Capabilities } from "../../provider/capabilities.ts";
import { hindersResize, type ResizeHindrance } from "../admission/admission.ts";
import type { NodeUsage } from "../admission/node-usage.ts";
import { needsUpdate } from "../state/pod-changes.ts";
import { lastGiven, type PodState } from "../state/pod-state.ts";
import { isResized, showsPendingResize, withResourcesOf, type PodResize } from "./resize.ts";

/** What becomes of a change of a running pod, with regard to its resources. */
export type ResizeDecision =
  /** The provider is told of all of it. `reserves` when the pod is to be counted with the resources that it asks for now. */
  | { readonly kind: "tell"; readonly reserves: boolean }
  /**
   * The resize is pending. `given` is the pod without it, `undefined` when it is not known what the provider runs; `isAll` when there is
   * nothing else to tell the provider.
   */
  | {
      readonly kind: "hold";
      readonly resize: Extract<PodResize, { kind: "pending" }>;
      readonly given: DeepReadonly<Pod> | undefined;
      readonly isAll: boolean;
    };

/** What {@link decideResize} looks at besides the pod. */
export interface ResizeContext {
  readonly node: RegisteredNode | undefined;
  /** What the node's other pods use. */
  readonly usage: NodeUsage;
  readonly capabilities: Capabilities;
  readonly providerName: string;
}

/** Decides whether the node has room for a running pod's new resources. What the provider was told of once has its room. */
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

/** Whether the provider was not told of the resize yet. After a restart the status alone tells so. */
function isNewResize(pod: DeepReadonly<Pod>, { backend, resize }: PodState): boolean {
  const applied = lastGiven(backend);
  if (applied?.spec) return isResized(applied, pod);
  return resize ? resize.kind === "pending" : showsPendingResize(pod);
}

/** Whether a pending resize is the one that an event told of; a kubelet tells of each reason once for a generation. */
export function isToldOf(before: PodResize | undefined, after: Extract<PodResize, { kind: "pending" }>): boolean {
  return before?.kind === "pending" && before.reason === after.reason && before.generation === after.generation;
}
