import type { KubernetesObject } from "../rest/objects.ts";
import type { ReflectorPhase } from "./reflector-state.ts";
import type { Store } from "./store.ts";

/** State of a reflector, for people who look at a running program. */
export interface ReflectorInspection {
  /** `waiting` after a failure; `watching` is the ordinary state. */
  readonly phase: ReflectorPhase["kind"];
  /** Number of objects in the store. */
  readonly objects: number;
  /** Number of completed lists. */
  readonly lists: number;
  /** Number of watches that have ended; each is followed by another. */
  readonly endedWatches: number;
  /** The failure that it waits after; `undefined` in all other phases. */
  readonly failure: { readonly error: unknown; readonly attempt: number; readonly retryInMs: number } | undefined;
}

/** Follows some of the API server's objects. A `Reflector` does with a watch of its own, and a partition of a `PartitionedReflector` with a shared one. */
export interface ObjectWatch<T extends KubernetesObject> {
  /** The objects; empty until {@link synced}. */
  readonly store: Store<T>;
  /** Resolves when the store holds the whole first list; rejects if the run ends earlier. */
  readonly synced: Promise<void>;
  /** Whether the store follows the server now. */
  readonly isCurrent: boolean;
  /** Monotonic time of the last answer or line from the server; `undefined` before the first. */
  readonly lastContactMs: number | undefined;
  /** State at this moment. */
  inspect(): ReflectorInspection;
  /** Ends the wait after a failure, because the API server is known to answer again. */
  wake(): void;
  /** Follows until aborted. May be called once. */
  run(signal: AbortSignal): Promise<void>;
}
