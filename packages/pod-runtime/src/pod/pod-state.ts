import type { ContainerRecord } from "./container-life.ts";
import type { DesiredPod } from "./desired-pod.ts";
import type { WholePod } from "./whole-pod.ts";

/** Stage of the pod at the runtime. `untilMs` is monotonic. */
export type PodStage =
  /** There is no sandbox; one is to be created at once. */
  | { readonly kind: "noSandbox"; readonly failures: number }
  /** `hasNewConfig`: a secret or config map changed during the creation. */
  | { readonly kind: "creatingSandbox"; readonly attempt: number; readonly failures: number; readonly hasNewConfig?: boolean }
  /** The sandbox could not be created, or the pod's volumes could not be filled. Retried at `untilMs`. */
  | {
      readonly kind: "sandboxFailed";
      readonly isForMounts: boolean;
      readonly untilMs: number;
      readonly failures: number;
      readonly message: string;
    }
  | { readonly kind: "up"; readonly sandboxId: string; readonly ips: readonly string[] }
  /** All containers have ended; the sandbox is being stopped. */
  | { readonly kind: "stoppingSandbox"; readonly sandboxId: string; readonly untilMs?: number | undefined }
  /** Everything has ended. Containers are kept for their logs. */
  | { readonly kind: "finished" }
  /** The remains are being removed. */
  | { readonly kind: "removing"; readonly untilMs?: number | undefined }
  /** The runtime holds nothing of the pod any more. */
  | { readonly kind: "gone" };

/** Why and until when the pod's containers are to end. */
export interface PodEnding {
  /** `finished`: the main containers have ended, or an init container has failed for good. `failed`: the pod was made to fail. */
  readonly why: "deleted" | "failed" | "finished";
  /** End of the grace period; monotonic. */
  readonly deadlineMs: number;
  /** For `failed`: reason of the pod's status, such as `DeadlineExceeded`. */
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** For `failed`: whether the node ends the pod for its own sake, which sets the condition `DisruptionTarget`. */
  readonly isDisruption?: boolean | undefined;
}

/** Everything that is known of a pod. Immutable. */
export interface PodState {
  readonly desired: DesiredPod;
  readonly stage: PodStage;
  /** Number of the newest sandbox; -1 before the first one. */
  readonly sandboxAttempt: number;
  /** Sandboxes that have died but may still contain running processes. They are stopped before the next sandbox is created. */
  readonly deadSandboxes: readonly string[];
  /** By name. Every desired container has a record. */
  readonly containers: ReadonlyMap<string, ContainerRecord>;
  /** Resources of the pod as a whole. */
  readonly whole: WholePod;
  readonly ending?: PodEnding | undefined;
  /** Whether the pod was deleted, whatever ended it first. */
  readonly isDeleted: boolean;
  /** Start of `activeDeadlineSeconds`; monotonic. */
  readonly activeSinceMs: number;
}
