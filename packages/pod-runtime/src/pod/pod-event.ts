import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { RuntimeContainer } from "../runtime/container-runtime.ts";
import type { Termination } from "./container-life.ts";

/** Which start of which container something is about. */
export interface AttemptRef {
  readonly container: string;
  readonly attempt: number;
}

/** What can happen to a pod. Those about an attempt or an id that is not waited for change nothing. */
export type PodEvent =
  /** Time has passed: see `nextDueMs`. */
  | { readonly kind: "tick" }
  /** The spec, labels or annotations changed. */
  | { readonly kind: "updated"; readonly pod: DeepReadonly<Pod> }
  /** A secret or config map that the pod refers to has come, changed or gone. */
  | { readonly kind: "configChanged" }
  /** The pod is to end; again with less grace to shorten it. */
  | { readonly kind: "deleted"; readonly graceMs: number }
  /** The pod is made to fail, as by eviction. */
  | {
      readonly kind: "failed";
      readonly graceMs: number;
      readonly reason: string;
      readonly message: string;
      /** Whether the node ends it for its own sake; default `false`. */
      readonly isDisruption?: boolean | undefined;
    }
  | {
      readonly kind: "sandboxCreated";
      readonly attempt: number;
      readonly sandboxId: string;
      readonly ips: readonly string[];
      /** The newest attempt of each container that was begun in a sandbox before, by name. Default: of none. */
      readonly begun?: ReadonlyMap<string, number> | undefined;
    }
  | {
      readonly kind: "sandboxFailed";
      readonly attempt: number;
      readonly message: string;
      /** Of the event; absent: it was told already. */
      readonly reason?: "FailedMount" | "FailedCreatePodSandBox" | undefined;
    }
  /** The sandbox stopped or vanished, on our wish or not. What ran in it does not any more. */
  | { readonly kind: "sandboxStopped"; readonly sandboxId: string }
  | { readonly kind: "sandboxStopFailed"; readonly sandboxId: string }
  /** Another pod has left ports of the node: a sandbox that could not be made may be possible now. */
  | { readonly kind: "portsFreed" }
  /** The pod's cgroup, if it has one, has at least what the spec says, or just that. */
  | { readonly kind: "podGrown" | "podFitted"; readonly sandboxId: string }
  | { readonly kind: "podFitFailed"; readonly sandboxId: string; readonly message: string }
  | { readonly kind: "removed" }
  | { readonly kind: "removeFailed" }
  | {
      readonly kind: "imageReady";
      readonly container: string;
      readonly specHash: string;
      readonly image: { readonly name: string; readonly id: string };
      /** The images of its volumes that are some, by content, by the volumes' names. */
      readonly volumeImages?: ReadonlyMap<string, string> | undefined;
    }
  | {
      readonly kind: "imageFailed";
      readonly container: string;
      readonly specHash: string;
      readonly reason: string;
      readonly message: string;
      /** The image of a volume, where it is not the container's own; then people have been told. */
      readonly volumeImage?: string | undefined;
    }
  | ({
      readonly kind: "started";
      readonly id: string;
      readonly startedAtMs: number;
      readonly user?: RuntimeContainer["user"];
    } & AttemptRef)
  /** It was not made, or it is not clear whether it was started: `id` absent, tried again as it was. Or it can never start. */
  | ({
      readonly kind: "startFailed";
      readonly id?: string | undefined;
      readonly reason: "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError";
      readonly message: string;
      /** With `id`: what the runtime says of it; default 128. */
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
      /** It cannot be done in place. */
      readonly isRestartNeeded: boolean;
    }
  | {
      readonly kind: "hookEnded";
      readonly container: string;
      readonly id: string;
      readonly hook: "postStart" | "preStop";
      /** Absent: it went well. */
      readonly error?: string | undefined;
    }
  | {
      readonly kind: "probed";
      readonly container: string;
      readonly id: string;
      readonly probe: "startup" | "liveness" | "readiness";
      readonly isSuccess: boolean;
    };
