import { ApiStatusError, badRequest, expired, tooLargeResourceVersion } from "../errors/api-status-error.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { StoredObject } from "../storage/storage.ts";
import { type Continuation, parseContinueToken, toContinueToken } from "./continue-token.ts";
import { collectionOf, type RestContext } from "./rest-context.ts";

/** Parameters of a list. */
export interface ListQuery {
  /** `undefined` for all namespaces. */
  readonly namespace: string | undefined;
  /** Predicate of the selectors; `undefined` for all objects. */
  readonly selects: ((object: Readonly<ApiObject>) => boolean) | undefined;
  /** As sent: `""`, `"0"`, or a version. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  /** 0 for no limit. */
  readonly limit: number;
  /** Token of the previous page; `""` for the first page. */
  readonly continueToken: string;
}

/** One page of a list. */
export interface ListPage {
  readonly items: readonly StoredObject[];
  readonly resourceVersion: string;
  /** Absent on the last page. */
  readonly continue?: string;
  /** Number of objects on later pages; absent if a selector makes it expensive to compute. */
  readonly remainingItemCount?: number;
}

/** Version in the token of a list that continues without a consistent state. Source: pkg/storage/etcd3/errors.go. */
const anyVersion = -1;

/**
 * Lists objects of a kind, ordered by namespace and name. All pages show the state of the first.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/storage/cacher and pkg/storage/etcd3/store.go `GetList`.
 *
 * @throws ApiStatusError 400; 410 if the requested version is no longer retained; 504 if it has not been reached
 */
export function listObjects(context: RestContext, kind: Kind, query: ListQuery): ListPage {
  const latest = context.storage.resourceVersion;
  if (query.continueToken !== "" && query.resourceVersion !== "" && query.resourceVersion !== "0")
    throw badRequest("specifying resource version is not allowed when using continue");
  const continuation = query.continueToken === "" ? undefined : parseContinueToken(query.continueToken);
  const exact = continuation === undefined ? exactVersion(query, latest) : continuation.rv === anyVersion ? undefined : continuation.rv;
  const rest =
    continuation === undefined
      ? objectsAt(context, kind, query, exact)
      : remainingObjects(context, kind, query, { ...continuation, exact });
  const { selects } = query;
  const selected = selects === undefined ? rest : rest.filter(({ object }) => selects(object));
  const resourceVersion = exact ?? latest;
  // Version 0 is served by the real server's watch cache, which ignores limits.
  const limit = query.resourceVersion === "0" ? 0 : query.limit;
  const items = limit > 0 ? selected.slice(0, limit) : selected;
  const last = items.at(-1);
  if (last === undefined || items.length === selected.length) return { items, resourceVersion: String(resourceVersion) };
  context.compaction.onContinueToken(resourceVersion);
  return {
    items,
    resourceVersion: String(resourceVersion),
    continue: toContinueToken({ rv: resourceVersion, after: keyOf(last) }),
    ...(selects === undefined ? { remainingItemCount: selected.length - items.length } : {}),
  };
}

/** Version that the list must show; `undefined` for the latest. */
function exactVersion(query: ListQuery, latest: number): number | undefined {
  const version = parseVersion(query.resourceVersion);
  if (version > latest) throw tooLargeResourceVersion(version, latest);
  if (query.resourceVersionMatch === "Exact") return version;
  // Without `resourceVersionMatch`, a limit implies an exact version.
  return version > 0 && query.limit > 0 && query.resourceVersionMatch === "" ? version : undefined;
}

/** @param exact - version that is shown; `undefined` for the latest */
function objectsAt(context: RestContext, kind: Kind, { namespace }: ListQuery, exact: number | undefined): StoredObject[] {
  const collection = collectionOf(context, kind);
  if (exact !== undefined && context.compaction.isCompacted(exact)) throw expired("The resourceVersion for the provided list is too old.");
  return exact === undefined ? collection.list(namespace) : collection.listAt(exact, namespace);
}

/** Objects of the pages that come after a page. */
function remainingObjects(
  context: RestContext,
  kind: Kind,
  query: ListQuery,
  { exact, ...continuation }: Continuation & { readonly exact: number | undefined },
): StoredObject[] {
  try {
    return objectsAt(context, kind, query, exact).filter((stored) => keyOf(stored) > continuation.after);
  } catch (error) {
    throw error instanceof ApiStatusError && error.status.code === 410 ? tooOldToContinue(continuation) : error;
  }
}

function tooOldToContinue(continuation: Continuation): Error {
  return expired(
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    toContinueToken({ ...continuation, rv: anyVersion }),
  );
}

/**
 * Parses a resourceVersion; 0 if absent.
 *
 * @throws ApiStatusError 400
 */
export function parseVersion(text: string): number {
  if (text === "") return 0;
  const problem = versionProblem(text);
  if (problem !== undefined) throw badRequest(`invalid resource version: ${problem}`);
  return Number(text);
}

/** Why a text is no version. Source: Go's strconv/atoi.go, `ParseUint`. @returns `undefined` for a version and for no text */
export function versionProblem(text: string): string | undefined {
  const problem = /^\d*$/.test(text) ? (BigInt(text) >= 2n ** 64n ? "value out of range" : undefined) : "invalid syntax";
  const given = JSON.stringify(text);
  return problem === undefined ? undefined : `resourceVersion: Invalid value: ${given}: strconv.ParseUint: parsing ${given}: ${problem}`;
}

function keyOf({ object }: StoredObject): string {
  return `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
}
