import type { ContainerRole, ContainerScript } from "../script/script.ts";

/** A moment, on the monotonic clock for computing, and on the wall clock for showing. */
export interface Instant {
  /** Monotonic milliseconds. */
  readonly ms: number;
  /** RFC 3339 with whole seconds, as a kubelet writes it. */
  readonly time: string;
}

/** One run of a container, from start to end. */
export interface FinishedRun {
  readonly startedAt: string;
  readonly finishedAt: string;
  /** Running time in milliseconds. */
  readonly ranMs: number;
  readonly exitCode: number;
  readonly reason: string;
  readonly message?: string | undefined;
}

/** Pending end of a container after the pod's deletion. */
interface Stop {
  readonly atMs: number;
  /** Whether it would need more than the grace period. */
  readonly killed: boolean;
}

/** State of a container. Times are monotonic milliseconds. */
type ContainerState =
  /** Waits for init containers. */
  | { readonly kind: "blocked" }
  /** `ContainerCreating` until `untilMs`. */
  | { readonly kind: "creating"; readonly untilMs: number }
  /** `ErrImagePull`, and `pullBackOff` from `untilMs` on. */
  | { readonly kind: "pullFailed"; readonly attempt: number; readonly untilMs: number }
  /** `ImagePullBackOff` until the next attempt at `untilMs`. */
  | { readonly kind: "pullBackOff"; readonly attempt: number; readonly untilMs: number }
  /** `CreateContainerError` until its script changes. */
  | { readonly kind: "createFailed" }
  /** Ends by its script's exit or the pod's deletion. `readySinceMs` is the time of the last change of readiness. */
  | {
      readonly kind: "running";
      readonly startedAt: string;
      readonly startedMs: number;
      readonly ready: boolean;
      readonly readySinceMs: number;
      readonly stop?: Stop;
    }
  /** `CrashLoopBackOff`, and `running` again from `untilMs` on. */
  | { readonly kind: "crashLoop"; readonly delayMs: number; readonly untilMs: number }
  /** Ended for good. */
  | { readonly kind: "exited"; readonly run: FinishedRun };

/** Back-off of restarts, kept per container as in a kubelet. */
export interface BackOff {
  readonly delayMs: number;
  /** Time of the last restart that used it. */
  readonly setMs: number;
}

/** A container of a pod: its spec, its script and its state. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly role: ContainerRole;
  readonly restarts: "Always" | "OnFailure" | "Never";
  readonly script: ContainerScript;
  readonly state: ContainerState;
  readonly restartCount: number;
  /** The previous run; `undefined` if there was none. */
  readonly lastRun: FinishedRun | undefined;
  readonly backOff: BackOff | undefined;
}
