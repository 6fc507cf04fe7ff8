import { unreadStatus } from "../status/zun-object.ts";

/** What is to be done next with a pod that is to end. */
export type EndStep =
  /** Ask Zun to stop it, with this many seconds. */
  | { readonly kind: "stop"; readonly timeoutSeconds: number }
  /** Send SIGTERM; the grace is ours to count. */
  | { readonly kind: "terminate" }
  | { readonly kind: "kill" }
  | { readonly kind: "unpause" }
  | { readonly kind: "delete" }
  /** It is between two states, or ending: look again. */
  | { readonly kind: "wait" };

/** What a pod that is to end looks like. */
export interface EndSituation {
  readonly kind: "container" | "capsule";
  /** Zun's word. */
  readonly status: string;
  /** Whether it was asked to end. */
  readonly asked: boolean;
  /** Milliseconds since it was killed; `undefined` if it was not. */
  readonly killedAgoMs: number | undefined;
  /** Whether Zun has taken the delete. */
  readonly deleted: boolean;
  /** Milliseconds of grace left; 0 and less: none. */
  readonly graceLeftMs: number;
}

/**
 * Zun does one thing at a time to a container, and a stop holds it for the whole of its time-out: one that is longer could not be
 * shortened by a second delete. Up to here it is Zun's stop, which sends the image's own signal.
 */
export const longestStopSeconds = 30;

/** A kill that has not come through by then is sent again. */
const killAgainMs = 5_000;

/** The next step to a pod's end. Source of what is allowed when: zun 18.0.0 zun/common/utils.py (`VALID_STATES`). */
export function endStep({ kind, status, asked, killedAgoMs, deleted, graceLeftMs }: EndSituation): EndStep {
  // Zun stops a capsule's containers by itself, with ten seconds for each.
  if (kind === "capsule") return { kind: deleted && status !== "Error" ? "wait" : "delete" };
  switch (status) {
    case "Running": {
      // One that was deleted while it began runs all the same: Zun could not remove it.
      if (graceLeftMs <= 0) return { kind: killedAgoMs !== undefined && killedAgoMs < killAgainMs ? "wait" : "kill" };
      if (asked) return { kind: "wait" };
      const timeoutSeconds = Math.ceil(graceLeftMs / 1000);
      return timeoutSeconds <= longestStopSeconds ? { kind: "stop", timeoutSeconds } : { kind: "terminate" };
    }
    // It may run. Zun's delete stops it first, and Zun knows its state.
    case unreadStatus:
      if (graceLeftMs <= 0) return { kind: deleted ? "wait" : "delete" };
      return asked ? { kind: "wait" } : { kind: "stop", timeoutSeconds: Math.min(longestStopSeconds, Math.ceil(graceLeftMs / 1000)) };
    case "Paused":
      return { kind: "unpause" };
    case "Stopped":
    case "Created":
    case "Dead":
      return { kind: deleted ? "wait" : "delete" };
    // A delete that failed ends in Error, and is tried again.
    case "Error":
      return { kind: "delete" };
    default:
      return { kind: "wait" };
  }
}
