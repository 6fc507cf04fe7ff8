import { codeOf } from "@virtual-kubelet/errdefs";
import { isGone, isTooLargeResourceVersion, statusOf } from "../errors/api-error.ts";
import { retryAfterMsOf } from "../work-queue/backoff.ts";
import type { WatchEvent } from "../rest/client.ts";
import { isDecodeError } from "../errors/decode-error.ts";

/** Phase of a reflector. Each variant describes its activity and its exits. */
export type ReflectorPhase =
  /**
   * Nothing is known. Opens a watch that sends the initial state; when it is open: `streaming`. If the server
   * refuses it: `listing`.
   */
  | { readonly kind: "starting" }
  /**
   * Collects the initial state. At the bookmark that ends it, the store is replaced at once, and the same
   * connection continues as `watching`.
   */
  | { readonly kind: "streaming" }
  /**
   * Fetches and collects a page of a list. After the last one the store is replaced, then `listed`, at the first page's version:
   * if the pages have different versions, the watch replays the changes between them.
   */
  | { readonly kind: "listing"; readonly continue: string | undefined; readonly paged: boolean; readonly resourceVersion?: string }
  /** The store is complete up to this version. Opens a watch from there; when it is open: `watching`. */
  | { readonly kind: "listed"; readonly resourceVersion: string }
  /**
   * Applies changes, each with a newer version. When the server ends the watch: `listed`, at once. If the version is too old: `starting`
   * after a wait. After any other failure: `listed` after a wait.
   */
  | { readonly kind: "watching"; readonly resourceVersion: string; readonly silent: boolean }
  /** Something failed. After the wait: `next`. */
  | {
      readonly kind: "waiting";
      readonly delayMs: number;
      readonly attempt: number;
      readonly failure: Failure;
      readonly next: ReflectorPhase;
    };

/** State that outlives the phases. */
export interface ReflectorMemory {
  /** Number of consecutive streamed lists that did not complete; `refused` if the server does not support them. */
  readonly streamsLost: number | "refused";
  /** Number of failures since the last two minutes without one. */
  readonly failures: number;
  /** Monotonic time of the last failure. */
  readonly failedMs: number;
  /** Kind of the last failure. A server that answers "gone" is available again, so the back-off for outages does not apply. */
  readonly failedKind: Failure["kind"] | undefined;
  /** Number of watches from the same version whose first data was unreadable. */
  readonly unreadable: number;
}

/** Complete state of a reflector. */
export interface ReflectorState {
  readonly phase: ReflectorPhase;
  readonly memory: ReflectorMemory;
}

/** Initial state of every reflector. */
export const initialReflectorState: ReflectorState = {
  phase: { kind: "starting" },
  memory: { streamsLost: 0, failures: 0, failedMs: 0, failedKind: undefined, unreadable: 0 },
};

/** An event in a phase. */
export type ReflectorInput<T> =
  | { readonly kind: "opened" }
  | { readonly kind: "event"; readonly event: WatchEvent<T> }
  /** The server ended the watch, `openMs` after it was opened. */
  | { readonly kind: "ended"; readonly openMs: number }
  | { readonly kind: "page"; readonly objects: readonly T[]; readonly resourceVersion: string; readonly continue: string | undefined }
  | { readonly kind: "failed"; readonly failure: Failure }
  | { readonly kind: "waited" };

/** Changes to apply to the store. */
export type ReflectorEffect<T> =
  /** Begin a collection. */
  | { readonly kind: "clear" }
  /** Add to the collection, or take from it. */
  | { readonly kind: "collect"; readonly type: "put" | "remove"; readonly objects: readonly T[] }
  /** Make the collection the store's content. */
  | { readonly kind: "replace"; readonly list: "streamed" | "paged" }
  /** Change one object of the store. */
  | { readonly kind: "apply"; readonly type: "put" | "remove"; readonly object: T };

/** Kind of a failure, as far as the next phase depends on it. */
export interface Failure {
  readonly kind:
    /** The version is too old (410). */
    | "gone"
    /** This replica of the server has not seen the version yet. */
    | "ahead"
    /** The server does not support the request: 400, 404, 405, 406, 415, 422. */
    | "refused"
    /** The data cannot be read. */
    | "unreadable"
    /** No data arrived for too long. */
    | "overdue"
    /** The watch ended immediately without an object. */
    | "short"
    /** Everything else: no connection, overload, no permission. */
    | "other";
  readonly error: unknown;
  /** The server's Retry-After. */
  readonly retryAfterMs: number | undefined;
}

const refusals: readonly (number | undefined)[] = [400, 404, 405, 406, 415, 422];

/** Classifies an error. */
export function failureOf(error: unknown): Failure {
  return { kind: failureKind(error), error, retryAfterMs: retryAfterMsOf(error) };
}

function failureKind(error: unknown): Failure["kind"] {
  if (isGone(error)) return "gone";
  if (isTooLargeResourceVersion(error)) return "ahead";
  if (refusals.includes(statusOf(error)?.code)) return "refused";
  if (isDecodeError(error)) return "unreadable";
  if (codeOf(error) === "VK_DEADLINE_EXCEEDED") return "overdue";
  return "other";
}
