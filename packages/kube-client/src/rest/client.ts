import type { KubernetesObject } from "./objects.ts";
import type { Resource } from "./resources.ts";
import type { TransportPool } from "../transport/transport.ts";

/** Names one object. */
export interface ObjectName {
  /** Required where the resource is namespaced. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Options every call takes. */
export interface CallOptions {
  readonly signal: AbortSignal;
  /** Default: `long` for watches, else `short`. */
  readonly pool?: TransportPool | undefined;
  /** Such as `status` or `binding`. */
  readonly subresource?: string | undefined;
  /**
   * What a write's answer holds: the whole `object` (default), or nothing but its `metadata`, which spares both sides
   * the rest. A server may send the whole all the same.
   */
  readonly answer?: "object" | "metadata" | undefined;
  /** `drop`: a watch's objects and a write's answer come without `metadata.managedFields`, unread. Default: `keep`. */
  readonly managedFields?: "keep" | "drop" | undefined;
}

/** What a list or watch selects. */
export interface ListQuery {
  /** Default: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined;
  /** Largest number of objects in one answer. */
  readonly limit?: number | undefined;
  /** Token of the page before. */
  readonly continue?: string | undefined;
}

/** One page of a list. */
export interface ObjectList<T> {
  readonly items: T[];
  readonly resourceVersion: string;
  /** Token of the next page; absent on the last. */
  readonly continue?: string | undefined;
}

/** What a watch asks for, besides its selection. */
export interface WatchQuery extends ListQuery {
  readonly allowWatchBookmarks?: boolean | undefined;
  readonly sendInitialEvents?: boolean | undefined;
  /** The server ends the watch after this long. */
  readonly timeoutSeconds?: number | undefined;
}

/** One line of a watch. A bookmark's object carries nothing but its metadata. An error's object is a `Status`. */
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
 * The Kubernetes API in the wire's own form: what is returned is the server's JSON, parsed and nothing else.
 *
 * Every method throws `signal.reason` when aborted, and otherwise an error of errdefs by what the server said:
 * 404 NotFoundError, 409 ConflictError, 401 UnauthorizedError, 403 ForbiddenError, 408, 429 and 5xx UnavailableError
 * (with Retry-After), any other 4xx InvalidInputError. The message is the server's behind the operation's; reason, code
 * and details are had by {@link statusOf}, "too old" by {@link isGone}.
 *
 * An answer of 200 that does not hold what was asked for, by kind, version, namespace or name, is an UnavailableError whose cause is a
 * `DecodeError`: something else answered in the server's place. So is an answer of more than 256 MiB, of which no more is read;
 * for a watch, 8 MiB in one line.
 */
export interface KubeClient {
  /** Reads one object. @throws NotFoundError */
  get<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, options: CallOptions): Promise<T>;
  /**
   * Reads one page of a list; without `limit` that is all of it. @throws UnavailableError where the answer is no list of the kind:
   * it is never taken for an empty one
   */
  list<T extends KubernetesObject>(resource: Resource<T>, query: ListQuery, options: CallOptions): Promise<ObjectList<T>>;
  /** Creates the object, in the namespace its metadata names, and returns it as stored. @throws ConflictError where one of its name exists */
  create<T extends KubernetesObject>(resource: Resource<T>, object: T, options: CallOptions): Promise<T>;
  /** Replaces the object as a whole and returns it as stored. @throws ConflictError where its `resourceVersion` is not the latest */
  replace<T extends KubernetesObject>(resource: Resource<T>, object: T, options: CallOptions): Promise<T>;
  /** Patches one object and returns it as stored. @throws ConflictError where the patch names a UID or `resourceVersion` that is not its */
  patch<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, patch: Patch, options: CallOptions): Promise<T>;
  /** Deletes one object, or begins to where it has grace or finalizers. @throws NotFoundError; ConflictError where a precondition fails */
  delete<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, query: DeleteQuery, options: CallOptions): Promise<void>;
  /**
   * Opens a watch. The iterable ends when the server ends the watch, and throws where the connection breaks or a
   * line cannot be read. Leaving it frees the connection.
   */
  watch<T extends KubernetesObject>(resource: Resource<T>, query: WatchQuery, options: CallOptions): Promise<AsyncIterable<WatchEvent<T>>>;
  /** A request to any path, its JSON answer parsed, a `text/plain` one as it is; for `/version`, `/readyz` and the like. */
  raw(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body: unknown, options: CallOptions): Promise<unknown>;
}
