import type { ContainerRole, ContainerScript } from "../script/script.ts";

/** A moment, on both clocks: one to reckon with, one to show. */
export interface Instant {
  /** Monotonic milliseconds. */
  readonly ms: number;
  /** RFC 3339, to the second, as a kubelet writes it. */
  readonly time: string;
}

/** One run of a container, from start to end. */
export interface FinishedRun {
  readonly startedAt: string;
  readonly finishedAt: string;
  /** How long it ran, in milliseconds. */
  readonly ranMs: number;
  readonly exitCode: number;
  readonly reason: string;
  readonly message?: string | undefined;
}

/** Why a container is about to end at the pod's deletion, and when. */
export interface Stop {
  readonly atMs: number;
  /** Whether it would take longer than the grace lets it. */
  readonly killed: boolean;
}

/** Where a container stands. Times are monotonic milliseconds. */
export type ContainerState =
  /** Init containers come first. Left when they are done. */
  | { readonly kind: "blocked" }
  /** `ContainerCreating`. Left at `untilMs`. */
  | { readonly kind: "creating"; readonly untilMs: number }
  /** `ErrImagePull`. Left for `pullBackOff` at `untilMs`. */
  | { readonly kind: "pullFailed"; readonly attempt: number; readonly untilMs: number }
  /** `ImagePullBackOff`. Left for the next attempt at `untilMs`. */
  | { readonly kind: "pullBackOff"; readonly attempt: number; readonly untilMs: number }
  /** `CreateContainerError`. Left only when its script changes. */
  | { readonly kind: "createFailed" }
  /** Left by its script's exit, or by the pod's deletion. `readySinceMs` is when readiness last changed. */
  | {
      readonly kind: "running";
      readonly startedAt: string;
      readonly startedMs: number;
      readonly ready: boolean;
      readonly readySinceMs: number;
      readonly stop?: Stop;
    }
  /** `CrashLoopBackOff`. Left for `running` at `untilMs`. */
  | { readonly kind: "crashLoop"; readonly delayMs: number; readonly untilMs: number }
  /** Ended for good. */
  | { readonly kind: "exited"; readonly run: FinishedRun };

/** The back-off of restarts, as a kubelet keeps it for each container. */
export interface BackOff {
  readonly delayMs: number;
  /** When a restart last used it. */
  readonly setMs: number;
}

/** One container of a pod: what it is, what it is to do, and how far it has come. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly role: ContainerRole;
  readonly restarts: "Always" | "OnFailure" | "Never";
  readonly script: ContainerScript;
  readonly state: ContainerState;
  readonly restartCount: number;
  /** The run before this state, once there was one. */
  readonly lastRun: FinishedRun | undefined;
  readonly backOff: BackOff | undefined;
}
