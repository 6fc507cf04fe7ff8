import type { KubernetesObject } from "./objects.ts";
import type { Resource } from "./resources.ts";
import type { TransportPool } from "../transport/transport.ts";

/** Name of one object. */
export interface ObjectName {
  /** Required if the resource is namespaced. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Options of every call. */
export interface CallOptions {
  readonly signal: AbortSignal;
  /** Default: `long` for watches, otherwise `short`. */
  readonly pool?: TransportPool | undefined;
  /** Such as `status` or `binding`. */
  readonly subresource?: string | undefined;
  /**
   * Content of an answer, also of the objects of a list or watch: the whole `object` (default), or only its `metadata`, which saves
   * work on both sides. A server may send whole objects nevertheless.
   */
  readonly answer?: "object" | "metadata" | undefined;
  /** `drop`: `metadata.managedFields` of a watch's objects and a write's answer is removed before parsing. Default: `keep`. */
  readonly managedFields?: "keep" | "drop" | undefined;
}

/** Selection of a list or watch. */
export interface ListQuery {
  /** Default: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined;
  /** Maximum number of objects in one answer. */
  readonly limit?: number | undefined;
  /** Token from the previous page. */
  readonly continue?: string | undefined;
}

/** One page of a list. */
export interface ObjectList<T> {
  readonly items: T[];
  readonly resourceVersion: string;
  /** Token of the next page; absent on the last. */
  readonly continue?: string | undefined;
}

/** Options of a watch. */
export interface WatchQuery extends ListQuery {
  readonly allowWatchBookmarks?: boolean | undefined;
  readonly sendInitialEvents?: boolean | undefined;
  /** Time after which the server ends the watch. */
  readonly timeoutSeconds?: number | undefined;
}

/** One line of a watch. A bookmark's object has only metadata. An error's object is a `Status`. */
export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; readonly object: T }
  | { readonly type: "ERROR"; readonly object: { readonly code?: number; readonly reason?: string; readonly message?: string } };

/** A patch and its kind; the kind decides the content type. */
export interface Patch {
  readonly type: "json" | "merge" | "strategic";
  readonly body: unknown;
}

/** Options of a deletion. */
export interface DeleteQuery {
  readonly gracePeriodSeconds?: number | undefined;
  readonly preconditions?: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined } | undefined;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground" | undefined;
}

/**
 * The Kubernetes API in its wire format: results are the server's JSON, parsed and otherwise unchanged.
 *
 * Every method throws `signal.reason` when aborted, and otherwise an error of errdefs according to the answer:
 * 404 NotFoundError, 409 ConflictError, 401 UnauthorizedError, 403 ForbiddenError, 408, 429 and 5xx UnavailableError
 * (with Retry-After), any other 4xx InvalidInputError. The message names the operation, followed by the server's message; reason, code
 * and details are available from {@link statusOf}, and {@link isGone} recognizes "too old".
 *
 * An answer of 200 with another kind, version, namespace or name than requested is an UnavailableError whose cause is a
 * `DecodeError`, because something else answered in the server's place. So is an answer of more than 256 MiB, which is not read further;
 * for a watch, 8 MiB in one line.
 */
export interface KubeClient {
  /** Reads one object. @throws NotFoundError */
  get<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, options: CallOptions): Promise<T>;
  /**
   * Reads one page of a list; without `limit` the whole list. @throws UnavailableError if the answer is not a list of the kind,
   * which never counts as an empty one
   */
  list<T extends KubernetesObject>(resource: Resource<T>, query: ListQuery, options: CallOptions): Promise<ObjectList<T>>;
  /** Creates the object in the namespace of its metadata, and returns it as stored. @throws ConflictError if the name exists */
  create<T extends KubernetesObject>(resource: Resource<T>, object: T, options: CallOptions): Promise<T>;
  /** Replaces the object as a whole and returns it as stored. @throws ConflictError if its `resourceVersion` is not the latest */
  replace<T extends KubernetesObject>(resource: Resource<T>, object: T, options: CallOptions): Promise<T>;
  /** Patches one object and returns it as stored. @throws ConflictError if the patch has a different UID or `resourceVersion` */
  patch<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, patch: Patch, options: CallOptions): Promise<T>;
  /** Deletes one object, or begins that if it has grace or finalizers. @throws NotFoundError; ConflictError if a precondition fails */
  delete<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, query: DeleteQuery, options: CallOptions): Promise<void>;
  /**
   * Opens a watch. The iterable ends when the server ends the watch, and throws if the connection breaks or a
   * line cannot be read. Leaving it frees the connection.
   */
  watch<T extends KubernetesObject>(resource: Resource<T>, query: WatchQuery, options: CallOptions): Promise<AsyncIterable<WatchEvent<T>>>;
  /** Sends a request to any path, such as `/version` or `/readyz`. Returns parsed JSON, or the text of a `text/plain` answer. */
  raw(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body: unknown, options: CallOptions): Promise<unknown>;
}
