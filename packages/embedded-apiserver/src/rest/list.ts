import { badRequest, expired, tooLargeResourceVersion } from "../errors/api-status-error.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { StoredObject } from "../storage/storage.ts";
import { collectionOf, type RestContext } from "./rest-context.ts";

/** What a list selects. */
export interface ListQuery {
  /** Absent: all namespaces. */
  readonly namespace: string | undefined;
  /** Absent: all objects. */
  readonly selects: ((object: Readonly<ApiObject>) => boolean) | undefined;
  /** As the caller gives it; `""`, `"0"`, or a version. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  /** 0: no limit. */
  readonly limit: number;
  /** Of the page before; `""` for the first. */
  readonly continueToken: string;
}

/** One page of a list. */
export interface ListPage {
  readonly items: readonly StoredObject[];
  readonly resourceVersion: string;
  /** Absent on the last page. */
  readonly continue?: string;
  /** Objects on later pages; absent where a selector makes it costly to know. */
  readonly remainingItemCount?: number;
}

/** Where a list goes on; the token holds it. */
interface Continuation {
  /** The version that all pages show; {@link anyVersion} if the latest will do. */
  readonly rv: number;
  /** Namespace and name of the last object sent. */
  readonly after: string;
}

/** The version of a token for a list that goes on although it no longer shows one state. Source: pkg/storage/etcd3/errors.go. */
const anyVersion = -1;

/**
 * Lists a kind's objects, ordered by namespace and name. All pages of a list show the state of its first.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/storage/cacher and pkg/storage/etcd3/store.go `GetList`.
 *
 * @throws ApiStatusError 400; 410 if the version asked for is no longer kept; 504 if it has not been reached
 */
export function listObjects(context: RestContext, kind: Kind, query: ListQuery): ListPage {
  const latest = context.storage.resourceVersion;
  if (query.continueToken !== "" && query.resourceVersion !== "" && query.resourceVersion !== "0")
    throw badRequest("specifying resource version is not allowed when using continue");
  const continuation = query.continueToken === "" ? undefined : parseContinueToken(query.continueToken);
  const exact = continuation === undefined ? exactVersion(query, latest) : continuation.rv === anyVersion ? undefined : continuation.rv;
  const collection = collectionOf(context, kind);
  const all =
    exact === undefined ? collection.list(query.namespace) : atVersion(() => collection.listAt(exact, query.namespace), continuation);
  const rest = continuation === undefined ? all : all.filter((stored) => keyOf(stored) > continuation.after);
  const { selects } = query;
  const selected = selects === undefined ? rest : rest.filter(({ object }) => selects(object));
  const resourceVersion = exact ?? latest;
  // From the watch cache, which answers version 0, everything comes at once.
  const limit = query.resourceVersion === "0" ? 0 : query.limit;
  const items = limit > 0 ? selected.slice(0, limit) : selected;
  const last = items.at(-1);
  if (last === undefined || items.length === selected.length) return { items, resourceVersion: String(resourceVersion) };
  return {
    items,
    resourceVersion: String(resourceVersion),
    continue: toContinueToken({ rv: resourceVersion, after: keyOf(last) }),
    ...(selects === undefined ? { remainingItemCount: selected.length - items.length } : {}),
  };
}

/** The version the list must show; `undefined` if the latest does. */
function exactVersion(query: ListQuery, latest: number): number | undefined {
  const version = parseVersion(query.resourceVersion);
  if (version > latest) throw tooLargeResourceVersion(version, latest);
  if (query.resourceVersionMatch === "Exact") return version;
  // Before there was `resourceVersionMatch`, a limit meant an exact version; it still does.
  return version > 0 && query.limit > 0 && query.resourceVersionMatch === "" ? version : undefined;
}

function atVersion(list: () => StoredObject[], continuation: Continuation | undefined): StoredObject[] {
  try {
    return list();
  } catch (error) {
    if (continuation === undefined) throw error;
    throw expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
      toContinueToken({ ...continuation, rv: anyVersion }),
    );
  }
}

/**
 * Reads a resourceVersion; an absent one is 0.
 *
 * @throws ApiStatusError 400
 */
export function parseVersion(text: string): number {
  if (text === "") return 0;
  if (!/^\d+$/.test(text))
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  return Number(text);
}

function keyOf({ object }: StoredObject): string {
  return `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
}

function toContinueToken(continuation: Continuation): string {
  return Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: continuation.rv, start: continuation.after })).toString("base64url");
}

function parseContinueToken(token: string): Continuation {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    const { rv, start } = parsed as { rv?: unknown; start?: unknown };
    if (typeof rv === "number" && typeof start === "string") return { rv, after: start };
  } catch {
    // Falls through to the same answer as a token of another shape.
  }
  throw badRequest("invalid continue token: continue key is not valid");
}
