import type { AttemptRef } from "./pod-event.ts";

/** What is to be done. Each one but `event`, `removeContainer` and `removeSandbox` is answered by an event. */
export type PodEffect =
  | { readonly kind: "createSandbox"; readonly attempt: number }
  | { readonly kind: "stopSandbox"; readonly sandboxId: string }
  /** Everything the runtime holds of the pod. */
  | { readonly kind: "removeAll" }
  | { readonly kind: "ensureImage"; readonly container: string; readonly specHash: string }
  | ({ readonly kind: "startContainer"; readonly sandboxId: string; readonly specHash: string } & AttemptRef)
  | {
      readonly kind: "stopContainer";
      readonly container: string;
      readonly id: string;
      /** At least two seconds. */
      readonly graceMs: number;
    }
  /** The container does not run, or nobody waits for it. Forced, and not answered. */
  | { readonly kind: "removeContainer"; readonly id: string }
  /** A sandbox of before, with all that is in it. Not answered. */
  | { readonly kind: "removeSandbox"; readonly sandboxId: string }
  /** Raises the pod's cgroup to what the spec says now, before its containers grow. */
  | { readonly kind: "growPod"; readonly sandboxId: string }
  /** Brings the pod's cgroup to what the spec says now, after its containers have shrunk. */
  | { readonly kind: "fitPod"; readonly sandboxId: string }
  /** To what the spec says now. */
  | { readonly kind: "resizeContainer"; readonly container: string; readonly id: string }
  | { readonly kind: "runHook"; readonly container: string; readonly id: string; readonly hook: "postStart" | "preStop" }
  /** An event for people, on the pod. */
  | {
      readonly kind: "event";
      readonly type: "Normal" | "Warning";
      readonly reason: string;
      readonly message: string;
      readonly container?: string | undefined;
    };

/** A new value and what is to be done about it. */
export interface Step<State> {
  readonly state: State;
  readonly effects: readonly PodEffect[];
}

/** An event for people, on the pod. */
export type PodNotice = Extract<PodEffect, { readonly kind: "event" }>;
