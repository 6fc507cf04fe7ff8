import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { RuntimeContainer } from "../runtime/container-runtime.ts";
import type { Termination } from "./container-life.ts";

/** An attempt of a container. */
export interface AttemptRef {
  readonly container: string;
  readonly attempt: number;
}

/** Everything that can happen to a pod. Events about an attempt or id that the state does not wait for change nothing. */
export type PodEvent =
  /** Time has passed: see `nextDueMs`. */
  | { readonly kind: "tick" }
  /** The spec, labels or annotations changed. */
  | { readonly kind: "updated"; readonly pod: DeepReadonly<Pod> }
  /** A secret or config map that the pod refers to appeared, changed or disappeared. */
  | { readonly kind: "configChanged" }
  /** The pod is to end. A later event with less grace shortens the grace period. */
  | { readonly kind: "deleted"; readonly graceMs: number }
  /** The pod is to fail, for example by eviction. */
  | {
      readonly kind: "failed";
      readonly graceMs: number;
      readonly reason: string;
      readonly message: string;
      /** Whether the node ends the pod for its own sake. Default: false. */
      readonly isDisruption?: boolean | undefined;
    }
  | {
      readonly kind: "sandboxCreated";
      readonly attempt: number;
      readonly sandboxId: string;
      readonly ips: readonly string[];
      /** Newest attempt of each container that was started in an earlier sandbox, by container name. Default: none. */
      readonly begun?: ReadonlyMap<string, number> | undefined;
    }
  | {
      readonly kind: "sandboxFailed";
      readonly attempt: number;
      readonly message: string;
      /** Reason of the event for users; `undefined` if they have been told. */
      readonly reason?: "FailedMount" | "FailedCreatePodSandBox" | undefined;
    }
  /** The sandbox has stopped or vanished, requested or not. Nothing runs in it any more. */
  | { readonly kind: "sandboxStopped"; readonly sandboxId: string }
  | { readonly kind: "sandboxStopFailed"; readonly sandboxId: string }
  /** Another pod has released ports of the node. A sandbox that could not be created may be possible now. */
  | { readonly kind: "portsFreed" }
  /** The pod's cgroup, if it has one, now has at least (`podGrown`) or exactly (`podFitted`) what the spec says. */
  | { readonly kind: "podGrown" | "podFitted"; readonly sandboxId: string }
  | { readonly kind: "podFitFailed"; readonly sandboxId: string; readonly message: string }
  | { readonly kind: "removed" }
  | { readonly kind: "removeFailed" }
  | {
      readonly kind: "imageReady";
      readonly container: string;
      readonly specHash: string;
      readonly image: { readonly name: string; readonly id: string };
      /** Images of the volumes of type image: volume name ▶ image id by content. */
      readonly volumeImages?: ReadonlyMap<string, string> | undefined;
    }
  | {
      readonly kind: "imageFailed";
      readonly container: string;
      readonly specHash: string;
      readonly reason: string;
      readonly message: string;
      /** The volume's image that failed, if it was not the container's own. The user has been told. */
      readonly volumeImage?: string | undefined;
    }
  | ({
      readonly kind: "started";
      readonly id: string;
      readonly startedAtMs: number;
      readonly user?: RuntimeContainer["user"];
    } & AttemptRef)
  /**
   * The container was not created, or it is unclear whether it has started: `id` is absent, and the same attempt is retried. With `id`, it
   * can never start.
   */
  | ({
      readonly kind: "startFailed";
      readonly id?: string | undefined;
      readonly reason: "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError";
      readonly message: string;
      /** With `id`: the exit code that the runtime reports. Default: 128. */
      readonly exitCode?: number | undefined;
    } & AttemptRef)
  | { readonly kind: "exited"; readonly container: string; readonly id: string; readonly termination: Termination }
  | { readonly kind: "stopFailed"; readonly container: string; readonly id: string }
  | { readonly kind: "resized"; readonly container: string; readonly id: string }
  | {
      readonly kind: "resizeFailed";
      readonly container: string;
      readonly id: string;
      readonly message: string;
      /** Whether the runtime cannot change the resources in place. */
      readonly isRestartNeeded: boolean;
    }
  | {
      readonly kind: "hookEnded";
      readonly container: string;
      readonly id: string;
      readonly hook: "postStart" | "preStop";
      /** `undefined` on success. */
      readonly error?: string | undefined;
    }
  | {
      readonly kind: "probed";
      readonly container: string;
      readonly id: string;
      readonly probe: "startup" | "liveness" | "readiness";
      readonly isSuccess: boolean;
    };
