import { createHash } from "node:crypto";
import type { Kind } from "../kinds/kind.ts";
import { kinds as builtInKinds } from "../kinds/index.ts";
import { aggregatedDiscovery } from "./aggregated.ts";
import type { AggregatedVersions, GroupVersion } from "./api-resources.ts";
import type { DiscoveryResponse } from "./discovery-response.ts";
import { coreVersions, groupDocument, groupList, resourceList } from "./group-documents.ts";
import { openApiV2Response } from "./openapi-v2.ts";
import { openApiDocument, openApiIndex } from "./openapi.ts";

/** What discovery describes. */
export interface DiscoveredServer {
  /** Served kinds; default: the built-in ones. */
  readonly kinds?: readonly Kind[];
  /** Host and port for clients; empty if the server does not listen. */
  readonly serverAddress?: string;
  /** What aggregated API servers add; default: nothing. */
  readonly aggregated?: AggregatedVersions | undefined;
}

/**
 * Serves discovery: `/api`, `/apis` (plain and aggregated), `/api/v1`, `/apis/GROUP`, `/apis/GROUP/VERSION`, `/openapi/v2`,
 * `/openapi/v3` and its documents.
 *
 * The first request for OpenAPI reads the schema file, which takes a few milliseconds.
 *
 * @param path - path of the URL, such as `/apis/apps/v1`
 * @param accept - `Accept` header
 * @returns `undefined` for other paths, and for groups and versions that do not exist
 */
export function discoveryResponse(
  path: string,
  query: URLSearchParams,
  accept: string | undefined,
  { kinds = builtInKinds, serverAddress = "", aggregated }: DiscoveredServer = {},
): DiscoveryResponse | undefined {
  const served = { kinds, aggregated };
  const [root, ...rest] = path.split("/").filter((segment) => segment !== "");
  switch (root) {
    case "api":
      if (rest.length === 0) return rootDocument(coreVersions(serverAddress), accept, served);
      return rest.length === 1 ? found(resourceList({ group: "", version: rest[0] ?? "" }, kinds)) : undefined;
    case "apis":
      return groupResponse(rest, accept, served);
    case "openapi":
      if (rest[0] === "v2" && rest.length === 1) return openApiV2Response(accept, kinds);
      return rest[0] === "v3" ? openApiResponse(rest.slice(1), query, served) : undefined;
    default:
      return undefined;
  }
}

type Served = Required<Pick<DiscoveredServer, "kinds">> & Pick<DiscoveredServer, "aggregated">;

function groupResponse(
  [group, version, ...surplus]: readonly string[],
  accept: string | undefined,
  served: Served,
): DiscoveryResponse | undefined {
  const { kinds, aggregated } = served;
  if (group === undefined) return rootDocument(undefined, accept, served);
  if (surplus.length > 0) return undefined;
  return found(
    version === undefined ? groupDocument(group, kinds, aggregated) : group === "" ? undefined : resourceList({ group, version }, kinds),
  );
}

/** @param core - document of `/api`; `undefined` for `/apis` */
function rootDocument(core: unknown, accept: string | undefined, { kinds, aggregated }: Served): DiscoveryResponse {
  if (!acceptsAggregation(accept)) return json(core ?? groupList(kinds, aggregated));
  const response = json(aggregatedDiscovery(core !== undefined, kinds, aggregated));
  const etag = `"${createHash("sha512").update(response.body).digest("hex").toUpperCase()}"`;
  const contentType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  return { ...response, headers: { ...response.headers, "content-type": contentType, "cache-control": "public", vary: "Accept", etag } };
}

/** Whether the aggregated form is preferred to the plain one. Version v2beta1 is no longer served. */
function acceptsAggregation(accept: string | undefined): boolean {
  for (const range of (accept ?? "").split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (type !== "application/json" && type !== "*/*") continue;
    if (!parameters.includes("as=APIGroupDiscoveryList")) return false;
    if (parameters.includes("g=apidiscovery.k8s.io") && parameters.includes("v=v2")) return true;
  }
  return false;
}

function openApiResponse(path: readonly string[], query: URLSearchParams, { kinds, aggregated }: Served): DiscoveryResponse | undefined {
  if (path.length === 0) return json(openApiIndex(kinds, aggregated));
  const groupVersion = documentGroupVersion(path);
  const document = groupVersion === undefined ? undefined : openApiDocument(groupVersion, kinds);
  if (document === undefined) return undefined;
  const cacheControl = query.get("hash") === document.hash ? "public, immutable" : "no-cache, private";
  return {
    status: 200,
    headers: { "content-type": "application/json", etag: `"${document.hash}"`, "cache-control": cacheControl },
    body: document.body,
  };
}

function documentGroupVersion(path: readonly string[]): GroupVersion | undefined {
  if (path.length === 2 && path[0] === "api") return { group: "", version: path[1] ?? "" };
  return path.length === 3 && path[0] === "apis" ? { group: path[1] ?? "", version: path[2] ?? "" } : undefined;
}

function found(document: unknown): DiscoveryResponse | undefined {
  return document === undefined ? undefined : json(document);
}

function json(document: unknown): DiscoveryResponse {
  return {
    status: 200,
    headers: { "cache-control": "no-cache, private", "content-type": "application/json" },
    body: Buffer.from(JSON.stringify(document)),
  };
}
