import type { ApiObject, Kind, ObjectReader } from "../kinds/kind.ts";
import type { KindChange } from "../kinds/kind-table.ts";

/** What changed, as the watch cache tells it inside the process. `object` is the state after; for a deletion the last. */
export interface ClusterEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Readonly<ApiObject>;
}

/** How an object is deleted. */
export interface DeletionOptions {
  readonly gracePeriodSeconds?: number;
  /** The UID the object must have. */
  readonly uid?: string;
  /** What becomes of the objects it owns; default: what the kind does of itself. */
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
}

/**
 * The server's own controllers see the cluster through this: the same rules as over HTTP (defaults, validation,
 * preconditions, graceful deletion), without HTTP. Objects returned are shared and must not be changed.
 */
export interface Cluster extends ObjectReader {
  /** @throws ApiStatusError */
  create(kind: Kind, object: unknown): Readonly<ApiObject>;
  /** Replaces what `change` returns for the current object; `undefined` leaves it. @throws ApiStatusError */
  update(
    kind: Kind,
    namespace: string | undefined,
    name: string,
    change: (object: ApiObject) => ApiObject | undefined,
    subresource?: "status",
  ): Readonly<ApiObject> | undefined;
  /** @throws ApiStatusError; a missing object is no error */
  delete(kind: Kind, namespace: string | undefined, name: string, options?: DeletionOptions): void;
  /** Binds a pod to a node, as a POST to `pods/binding` does. @throws ApiStatusError */
  bind(namespace: string, pod: string, node: string): void;
  /** Calls back on every later change of the kind, after it is stored. */
  watch(kind: Kind, listener: (event: ClusterEvent) => void): Disposable;
  /** The kinds there are now. Custom resources come and go. */
  kinds(): readonly Kind[];
  /** Calls back when a kind of custom resources comes or goes. */
  watchKinds(listener: (change: KindChange) => void): Disposable;
}
