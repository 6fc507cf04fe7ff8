import type { RuntimeContainer } from "../runtime/container-runtime.ts";
import type { Resources } from "./resources.ts";

/** End of a container's run. Times are wall-clock milliseconds since the epoch. */
export interface Termination {
  readonly exitCode: number;
  /** Reason in the status: `Completed`, `Error`, `OOMKilled`, `StartError`, `ContainerStatusUnknown`, … */
  readonly reason: string;
  readonly message?: string | undefined;
  readonly startedAtMs?: number | undefined;
  readonly finishedAtMs: number;
  /** `undefined` if the runtime never created the container. */
  readonly id?: string | undefined;
}

/** An instance that the runtime runs. */
export interface RunningInstance {
  readonly id: string;
  readonly startedAtMs: number;
}

/** Why a container is stopped. After all reasons but `podEnding` the restart policy decides what follows. */
export type StopReason = "podEnding" | "liveness" | "startup" | "changed" | "postStart";

/**
 * Stage of a container's life. `untilMs` and `…DeadlineMs` are monotonic.
 *
 * - `idle`: its turn has not come, or `settle` is about to start it.
 * - `pulling`: its images are checked and pulled. Left by `imageReady`, `imageFailed`.
 * - `starting`: it is being created and started. Left by `started`, `startFailed`.
 * - `postStart`: it runs, and so does its postStart hook. Left by `hookEnded`, `exited`.
 * - `running`: left by `exited`, or by a request to stop it.
 * - `preStop`: it is to be stopped. Its preStop hook runs, or other containers have to end first; `settle` stops it at the deadline at the
 *   latest.
 * - `stopping`: the runtime is stopping it. Left by `exited`.
 * - `waiting`: it failed or ended, and is started again at `untilMs`.
 * - `ended`: it is never started again. Without a termination in the record, it never ran.
 */
export type ContainerLife =
  | { readonly kind: "idle" }
  | { readonly kind: "pulling" }
  /** `hasNewConfig`: a secret or config map changed during the start. */
  | { readonly kind: "starting"; readonly hasNewConfig?: boolean }
  | { readonly kind: "postStart"; readonly instance: RunningInstance }
  | { readonly kind: "running"; readonly instance: RunningInstance; readonly isStarted: boolean; readonly isReady: boolean }
  | {
      readonly kind: "preStop" | "stopping";
      readonly instance: RunningInstance;
      readonly isStarted: boolean;
      readonly isReady: boolean;
      readonly why: StopReason;
      readonly deadlineMs: number;
      /** In `preStop`: the hook has ended, or there is none. */
      readonly isHookOver?: boolean | undefined;
      /** When the runtime failed to stop it: time of the next try. */
      readonly retryAtMs?: number | undefined;
    }
  /** `volumeImage`: the image of a volume, if that image could not be pulled. */
  | ({ readonly kind: "waiting"; readonly untilMs: number; readonly sinceMs: number; readonly volumeImage?: string | undefined } & Trouble)
  | { readonly kind: "ended" };

/** Why a container does not run, in the words of its status. */
export interface Trouble {
  /** Waiting reason: `ErrImagePull`, `CrashLoopBackOff`, `PostStartHookError`, … */
  readonly reason: string;
  readonly message: string;
}

/** State of an exponential back-off. */
export interface BackoffRecord {
  /** Next delay, in milliseconds. */
  readonly delayMs: number;
  /** Time of its last use; monotonic. */
  readonly usedAtMs: number;
}

/** A change of a running container's resources. */
export interface PendingResize {
  readonly target: { readonly own: Resources; readonly effective: Resources };
  /** Time of the next try after a failure; monotonic. */
  readonly retryAtMs?: number | undefined;
  readonly message?: string | undefined;
  /** Whether the runtime cannot change the resources in place. */
  readonly isRestartNeeded?: boolean | undefined;
}

/** Everything that is known of one container of a pod. */
export interface ContainerRecord {
  readonly life: ContainerLife;
  /** Number of the newest attempt, running or not; -1 before the first one. */
  readonly attempt: number;
  /**
   * Number of the next attempt, if it may have been created but is not known to have started. It counts once it is known to have started.
   */
  readonly unbegun?: number | undefined;
  /** Spec hash of the newest attempt. */
  readonly specHash?: string | undefined;
  /** End of the newest attempt that has ended. */
  readonly lastTermination?: Termination | undefined;
  /** Whether {@link lastTermination} was caused by a restart that its policy would not allow. It is hidden until the next attempt runs. */
  readonly isReplaced?: boolean | undefined;
  /** End of the attempt before that one. */
  readonly previousTermination?: Termination | undefined;
  /** Whether, in this sandbox, an init container has succeeded or a sidecar has started once. */
  readonly isInitialized: boolean;
  /** The image: its name at the runtime, and its id by content. */
  readonly image?: { readonly name: string; readonly id: string } | undefined;
  /** Images of the volumes of type image in the newest attempt: volume name ▶ image id by content. */
  readonly volumeImages?: ReadonlyMap<string, string> | undefined;
  /** User of the newest attempt, if the runtime reports it. */
  readonly user?: RuntimeContainer["user"];
  /** Resources of the newest attempt, from the container's own spec. */
  readonly resources?: Resources | undefined;
  /** {@link resources} with the pod's limits filled in. */
  readonly effective?: Resources | undefined;
  /** A change of {@link resources} that is in progress, or waits for its next try. */
  readonly resize?: PendingResize | undefined;
  /** Reason why the newest try failed. Shown until a start succeeds. */
  readonly trouble?: Trouble | undefined;
  readonly crashBackoff?: BackoffRecord | undefined;
  readonly pullBackoff?: BackoffRecord | undefined;
}

/** A container before its first event. */
export const newContainer: ContainerRecord = { life: { kind: "idle" }, attempt: -1, isInitialized: false };

/** The instance that the runtime runs; `undefined` if it runs none. */
export function instanceOf(life: ContainerLife): RunningInstance | undefined {
  return "instance" in life ? life.instance : undefined;
}

/** Whether the container runs and its postStart hook has ended. Before that, it is not reported as running. */
export function isUp(life: ContainerLife): life is Extract<ContainerLife, { readonly isReady: boolean }> {
  return "isReady" in life && !("why" in life && life.why === "postStart");
}

/**
 * Reason of a container that waits, if there is one. Like a kubelet, it stays while the next try is in progress. Source: reasonCache of
 * kubernetes v1.36.3 pkg/kubelet/reason_cache.go.
 */
export function troubleOf({ life, trouble }: ContainerRecord): Trouble | undefined {
  if (life.kind === "waiting") return life;
  return life.kind === "ended" || isUp(life) ? undefined : trouble;
}

/** The record of a container that is to be started again. */
export function begunAnew(record: ContainerRecord): ContainerRecord {
  const held = troubleOf(record);
  return { ...record, life: { kind: "idle" }, trouble: held && { reason: held.reason, message: held.message } };
}

/** Whether the container occupies the runtime: it runs, or is being started. */
export function isLive(life: ContainerLife): boolean {
  return life.kind === "starting" || "instance" in life;
}
