import type { JsonObject } from "../json/json-value.ts";
import type { ApiObject, Kind, ObjectReader } from "../kinds/kind.ts";
import type { KindChange } from "../kinds/kind-table.ts";

/** A change of an object. `object` is the state after the change; for a deletion the last state. */
export interface ClusterEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Readonly<ApiObject>;
}

/** Options of {@link Cluster.delete}. */
export interface DeletionOptions {
  readonly gracePeriodSeconds?: number;
  /** Precondition: UID of the object. */
  readonly uid?: string;
  /** Propagation to dependents; default: depends on the kind. */
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
}

/**
 * Access to the cluster for the server's own controllers: the same rules as over HTTP (defaults, validation, preconditions, graceful
 * deletion) without HTTP. Returned objects are shared and must not be modified.
 */
export interface Cluster extends ObjectReader {
  /**
   * @param fieldManager - default: `kube-controller-manager`, or `kube-apiserver` for kinds that only the API server writes
   * @throws ApiStatusError
   */
  create(kind: Kind, object: unknown, fieldManager?: string): Readonly<ApiObject>;
  /** Replaces the object with the result of `change`; `undefined` leaves it unchanged. @throws ApiStatusError */
  update(
    kind: Kind,
    namespace: string | undefined,
    name: string,
    change: (object: ApiObject) => ApiObject | undefined,
    subresource?: "status",
  ): Readonly<ApiObject> | undefined;
  /** Server-side apply of a whole status, which takes fields from other managers. @throws ApiStatusError */
  applyStatus(kind: Kind, namespace: string | undefined, name: string, status: JsonObject, fieldManager: string): Readonly<ApiObject>;
  /** A missing object is not an error. @throws ApiStatusError */
  delete(kind: Kind, namespace: string | undefined, name: string, options?: DeletionOptions): void;
  /** Number of objects of the kind in one namespace, or in all. */
  count(kind: Kind, namespace?: string): number;
  /** The same objects as `list`, one at a time and without an order. Objects may be added and removed during the iteration. */
  values(kind: Kind, namespace?: string): Iterable<Readonly<ApiObject>>;
  /** Binds a pod to a node, like a POST to `pods/binding`. @throws ApiStatusError */
  bind(namespace: string, pod: string, node: string): void;
  /** Calls the listener after every later change of an object of the kind. */
  watch(kind: Kind, listener: (event: ClusterEvent) => void): Disposable;
  /** Currently served kinds. Kinds of custom resources come and go. */
  kinds(): readonly Kind[];
  /** Calls the listener when a kind of custom resources is added or removed. */
  watchKinds(listener: (change: KindChange) => void): Disposable;
}
