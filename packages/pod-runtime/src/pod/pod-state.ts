import type { ContainerRecord } from "./container-life.ts";
import type { DesiredPod } from "./desired-pod.ts";
import type { WholePod } from "./whole-pod.ts";

/** The pod's place in the runtime. `untilMs` is monotonic. */
export type PodStage =
  /** No sandbox, and one is wanted at once. */
  | { readonly kind: "noSandbox"; readonly failures: number }
  /** `hasNewConfig`: a secret or config map has changed meanwhile. */
  | { readonly kind: "creatingSandbox"; readonly attempt: number; readonly failures: number; readonly hasNewConfig?: boolean }
  /** It could not be made, or the pod's volumes not be filled; tried again at `untilMs`. */
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
  /** All has ended; what it left stays for its logs. */
  | { readonly kind: "finished" }
  /** What it left is being removed. */
  | { readonly kind: "removing"; readonly untilMs?: number | undefined }
  /** The runtime holds nothing of it any more. */
  | { readonly kind: "gone" };

/** Why the pod's containers are to end. */
export interface PodEnding {
  /** `finished`: the main containers are through, or an init container failed for good. `failed`: the pod is made to fail. */
  readonly why: "deleted" | "failed" | "finished";
  /** When the grace is over; monotonic. */
  readonly deadlineMs: number;
  /** With `failed`: reason and message of the pod, such as `DeadlineExceeded`. */
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** With `failed`: whether the node ends it for its own sake, which the condition `DisruptionTarget` tells. */
  readonly isDisruption?: boolean | undefined;
}

/** All that is known of a pod. Never changed in place. */
export interface PodState {
  readonly desired: DesiredPod;
  readonly stage: PodStage;
  /** Number of the newest sandbox; -1 before the first. */
  readonly sandboxAttempt: number;
  /** Sandboxes that died and in which something may run on; they are stopped before another is made. */
  readonly deadSandboxes: readonly string[];
  /** By name; every desired container has one. */
  readonly containers: ReadonlyMap<string, ContainerRecord>;
  /** Its resources as a whole. */
  readonly whole: WholePod;
  readonly ending?: PodEnding | undefined;
  /** Whether it was deleted, whatever ended it first. */
  readonly isDeleted: boolean;
  /** Since when `activeDeadlineSeconds` counts; monotonic. */
  readonly activeSinceMs: number;
}
