import { codeOf } from "@virtual-kubelet/errdefs";
import { isGone, isTooLargeResourceVersion, statusOf } from "../errors/api-error.ts";
import { retryAfterMsOf } from "../work-queue/backoff.ts";
import type { WatchEvent } from "../rest/client.ts";
import { isDecodeError } from "../errors/decode-error.ts";

/** Where a reflector is. Each variant says what is done in it, and what leaves it. */
export type ReflectorPhase =
  /**
   * Nothing is known. A watch that sends the initial state is opened; when it is open: `streaming`. A server that
   * refuses it: `listing`.
   */
  | { readonly kind: "starting" }
  /**
   * The initial state is coming in, and is collected. The bookmark behind it: the store is replaced at once, and the same
   * connection goes on as `watching`.
   */
  | { readonly kind: "streaming" }
  /**
   * A page of a list is fetched and collected. The last one: the store is replaced, then `listed`, at the first page's version:
   * pages are of one version, and where they are not, what happened between them is watched.
   */
  | { readonly kind: "listing"; readonly continue: string | undefined; readonly paged: boolean; readonly resourceVersion?: string }
  /** The store is complete up to this version. A watch is opened from there; when it is open: `watching`. */
  | { readonly kind: "listed"; readonly resourceVersion: string }
  /**
   * Changes come in, and move the version on. The server's end of it: `listed`, at once. A version too old: `starting`
   * after a wait. Anything else that breaks it: `listed` after a wait.
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

/** What outlives the phases. */
export interface ReflectorMemory {
  /** Streamed lists that were begun and did not come to their end, in a row; `refused` where the server knows none. */
  readonly streamsLost: number | "refused";
  /** Failures since the last two minutes without one. */
  readonly failures: number;
  /** Monotonic time of the last one. */
  readonly failedMs: number;
  /** Of what kind the last one was. A server that answers "gone" is there again: it is not waited for as one that is not. */
  readonly failedKind: Failure["kind"] | undefined;
  /** Watches from the same version that brought something unreadable before anything else. */
  readonly unreadable: number;
}

/** All that decides what a reflector does next. */
export interface ReflectorState {
  readonly phase: ReflectorPhase;
  readonly memory: ReflectorMemory;
}

/** Where every reflector begins. */
export const initialReflectorState: ReflectorState = {
  phase: { kind: "starting" },
  memory: { streamsLost: 0, failures: 0, failedMs: 0, failedKind: undefined, unreadable: 0 },
};

/** What happened in a phase. */
export type ReflectorInput<T> =
  | { readonly kind: "opened" }
  | { readonly kind: "event"; readonly event: WatchEvent<T> }
  /** The server ended the watch, `openMs` after it was open. */
  | { readonly kind: "ended"; readonly openMs: number }
  | { readonly kind: "page"; readonly objects: readonly T[]; readonly resourceVersion: string; readonly continue: string | undefined }
  | { readonly kind: "failed"; readonly failure: Failure }
  | { readonly kind: "waited" };

/** What is to be done to the store. */
export type ReflectorEffect<T> =
  /** Begin a collection. */
  | { readonly kind: "clear" }
  /** Add to the collection, or take from it. */
  | { readonly kind: "collect"; readonly type: "put" | "remove"; readonly objects: readonly T[] }
  /** Make the collection the store's content. */
  | { readonly kind: "replace"; readonly list: "streamed" | "paged" }
  /** Change one object of the store. */
  | { readonly kind: "apply"; readonly type: "put" | "remove"; readonly object: T };

/** Why something failed, as far as it decides what comes next. */
export interface Failure {
  readonly kind:
    /** The version is too old (410). */
    | "gone"
    /** The server asked has not seen the version yet. */
    | "ahead"
    /** The server does not take such a request: 400, 404, 405, 406, 415, 422. */
    | "refused"
    /** What came cannot be read. */
    | "unreadable"
    /** Nothing came for too long. */
    | "overdue"
    /** The watch ended as soon as it was open, and brought no object. */
    | "short"
    /** Everything else: no connection, overload, no permission. */
    | "other";
  readonly error: unknown;
  /** How long the server asked to be left alone. */
  readonly retryAfterMs: number | undefined;
}

const refusals: readonly (number | undefined)[] = [400, 404, 405, 406, 415, 422];

/** What an error means to a reflector. */
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
