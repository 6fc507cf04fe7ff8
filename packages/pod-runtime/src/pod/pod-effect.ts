import type { AttemptRef } from "./pod-event.ts";
import type { PodRuntimeReason } from "../reasons.ts";

/** An action for the runner. Every effect except `event`, `removeContainer` and `removeSandbox` is answered by an event. */
export type PodEffect =
  | { readonly kind: "createSandbox"; readonly attempt: number }
  | { readonly kind: "stopSandbox"; readonly sandboxId: string }
  /** Removes everything that the runtime holds of the pod. */
  | { readonly kind: "removeAll" }
  | { readonly kind: "ensureImage"; readonly container: string; readonly specHash: string }
  | ({ readonly kind: "startContainer"; readonly sandboxId: string; readonly specHash: string } & AttemptRef)
  | {
      readonly kind: "stopContainer";
      readonly container: string;
      readonly id: string;
      /** At least 2,000. */
      readonly graceMs: number;
    }
  /** Removes a container that does not run, or whose result nobody waits for. Forced, and not answered. */
  | { readonly kind: "removeContainer"; readonly id: string }
  /** Removes an earlier sandbox with everything in it. Not answered. */
  | { readonly kind: "removeSandbox"; readonly sandboxId: string }
  /** Raises the pod's cgroup to its spec, before its containers grow. */
  | { readonly kind: "growPod"; readonly sandboxId: string }
  /** Sets the pod's cgroup to its spec, after its containers have shrunk. */
  | { readonly kind: "fitPod"; readonly sandboxId: string }
  /** Sets the container's resources to its spec. */
  | { readonly kind: "resizeContainer"; readonly container: string; readonly id: string }
  | { readonly kind: "runHook"; readonly container: string; readonly id: string; readonly hook: "postStart" | "preStop" }
  /** A Kubernetes event on the pod. */
  | {
      readonly kind: "event";
      readonly type: "Normal" | "Warning";
      readonly reason: PodRuntimeReason;
      readonly message: string;
      readonly container?: string | undefined;
    };

/** A new state, and the effects that follow from it, in order. */
export interface Step<State> {
  readonly state: State;
  readonly effects: readonly PodEffect[];
}

/** A Kubernetes event on the pod. */
export type PodNotice = Extract<PodEffect, { readonly kind: "event" }>;
