import type { RuntimeContainer } from "../runtime/container-runtime.ts";
import type { Resources } from "./resources.ts";

/** How a container's run ended. Times are wall-clock milliseconds since the epoch. */
export interface Termination {
  readonly exitCode: number;
  /** As in a status: `Completed`, `Error`, `OOMKilled`, `StartError`, `ContainerStatusUnknown`, … */
  readonly reason: string;
  readonly message?: string | undefined;
  readonly startedAtMs?: number | undefined;
  readonly finishedAtMs: number;
  /** Absent if the runtime never made the container. */
  readonly id?: string | undefined;
}

/** What is known of an instance that the runtime runs. */
export interface RunningInstance {
  readonly id: string;
  readonly startedAtMs: number;
}

/** Why a container is stopped; all but `podEnding` leave the restart to the policy. */
export type StopReason = "podEnding" | "liveness" | "startup" | "changed" | "postStart";

/**
 * Where a container is in its life. All `…Ms` that end in `untilMs` or `deadlineMs` are monotonic.
 *
 * - `idle`: its turn has not come, or has come and `settle` will begin it.
 * - `pulling`: the image is being made sure of. Left by `imageReady`, `imageFailed`.
 * - `starting`: it is being made and started. Left by `started`, `startFailed`.
 * - `postStart`: it runs, and its hook does. Left by `hookEnded`, `exited`.
 * - `running`: left by `exited`, or by a wish to stop it.
 * - `preStop`: a stop has begun. Its hook runs, or it waits for others to end before it; `settle` stops it, at the deadline at last.
 * - `stopping`: the runtime is stopping it. Left by `exited`.
 * - `waiting`: it failed or ended, and is begun again at `untilMs`.
 * - `ended`: it is never started again; without a termination in the record it never ran.
 */
export type ContainerLife =
  | { readonly kind: "idle" }
  | { readonly kind: "pulling" }
  /** `hasNewConfig`: a secret or config map has changed meanwhile. */
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
      /** With `preStop`: the hook is through, or there is none. */
      readonly isHookOver?: boolean | undefined;
      /** When the runtime has failed to stop it: when to try again. */
      readonly retryAtMs?: number | undefined;
    }
  /** `volumeImage`: the image of a volume that could not be pulled. */
  | ({ readonly kind: "waiting"; readonly untilMs: number; readonly sinceMs: number; readonly volumeImage?: string | undefined } & Trouble)
  | { readonly kind: "ended" };

/** Why a container does not run, as its status shows it. */
export interface Trouble {
  /** A waiting reason: `ErrImagePull`, `CrashLoopBackOff`, `PostStartHookError`, … */
  readonly reason: string;
  readonly message: string;
}

/** A back-off that doubles. */
export interface BackoffRecord {
  /** The next wait, in milliseconds. */
  readonly delayMs: number;
  /** When it was last used; monotonic. */
  readonly usedAtMs: number;
}

/** A change of a running container's resources. */
export interface PendingResize {
  readonly target: { readonly own: Resources; readonly effective: Resources };
  /** When it has failed: when it is tried again; monotonic. */
  readonly retryAtMs?: number | undefined;
  readonly message?: string | undefined;
  /** The runtime cannot do it in place. */
  readonly isRestartNeeded?: boolean | undefined;
}

/** All that is known of one container of a pod. */
export interface ContainerRecord {
  readonly life: ContainerLife;
  /** Number of the newest attempt, running or not; -1 before the first. */
  readonly attempt: number;
  /** The attempt after that one, if it may have been made and was not begun as far as is known. It counts once it is known to have begun. */
  readonly unbegun?: number | undefined;
  /** Spec hash of the newest attempt. */
  readonly specHash?: string | undefined;
  /** End of the newest attempt that has ended. */
  readonly lastTermination?: Termination | undefined;
  /** That end was ours, for another attempt, and by its policy it would be final: until that one runs, it is not shown. */
  readonly isReplaced?: boolean | undefined;
  /** End of the attempt before that one. */
  readonly previousTermination?: Termination | undefined;
  /** Whether an init container has ended well, or a sidecar was started once, in this sandbox. */
  readonly isInitialized: boolean;
  /** The image as the runtime names it, and by content. */
  readonly image?: { readonly name: string; readonly id: string } | undefined;
  /** The images of its volumes that are some, by content, by the volumes' names; of the newest attempt. */
  readonly volumeImages?: ReadonlyMap<string, string> | undefined;
  /** Whom the newest attempt runs as, where the runtime tells. */
  readonly user?: RuntimeContainer["user"];
  /** What the newest attempt runs with of its own. */
  readonly resources?: Resources | undefined;
  /** The same, with the pod's limits where it has none. */
  readonly effective?: Resources | undefined;
  /** A change of {@link resources} that is under way, or has failed and is tried again. */
  readonly resize?: PendingResize | undefined;
  /** What held up the newest try; it goes on being shown until a start has come through. */
  readonly trouble?: Trouble | undefined;
  readonly crashBackoff?: BackoffRecord | undefined;
  readonly pullBackoff?: BackoffRecord | undefined;
}

/** A container nothing has happened to. */
export const newContainer: ContainerRecord = { life: { kind: "idle" }, attempt: -1, isInitialized: false };

/** The instance that the runtime runs, if it runs one. */
export function instanceOf(life: ContainerLife): RunningInstance | undefined {
  return "instance" in life ? life.instance : undefined;
}

/** Whether it runs, and its postStart hook is through. Nobody is told before of one that does. */
export function isUp(life: ContainerLife): life is Extract<ContainerLife, { readonly isReady: boolean }> {
  return "isReady" in life && !("why" in life && life.why === "postStart");
}

/**
 * Why a container is shown as waiting, if that is known: as a kubelet does, also while it is being tried again.
 * Source: reasonCache of kubernetes v1.36.3 pkg/kubelet/reason_cache.go.
 */
export function troubleOf({ life, trouble }: ContainerRecord): Trouble | undefined {
  if (life.kind === "waiting") return life;
  return life.kind === "ended" || isUp(life) ? undefined : trouble;
}

/** A container that is to be begun, whatever held it up before. */
export function begunAnew(record: ContainerRecord): ContainerRecord {
  const held = troubleOf(record);
  return { ...record, life: { kind: "idle" }, trouble: held && { reason: held.reason, message: held.message } };
}

/** Whether something of the container is at work in the runtime: it runs, or is being started. */
export function isLive(life: ContainerLife): boolean {
  return life.kind === "starting" || "instance" in life;
}
