import type { UserInfo } from "../authentication/user-info.ts";
import type { ApiServiceProxy, ForwardedRequest, ReadAnswer } from "./api-service-proxy.ts";
import type { RemoteApiService } from "./remote-api-service.ts";

/** Kind of a resource's objects; the parts are empty if they are those of the list. */
interface ResponseKind {
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
}

interface Subresource {
  readonly subresource: string;
  readonly responseKind?: ResponseKind | null;
  readonly verbs: readonly string[];
}

interface Resource {
  readonly resource: string;
  readonly responseKind?: ResponseKind | null;
  readonly scope?: string;
  readonly singularResource?: string;
  readonly verbs?: readonly string[] | null;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly Subresource[];
}

/** A version in aggregated discovery. */
export interface VersionDiscovery {
  readonly version: string;
  readonly resources?: readonly Resource[];
  readonly freshness?: "Current" | "Stale";
}

/** Entry of the document at `/openapi/v3`. */
export interface OpenApiPath {
  readonly serverRelativeURL: string;
}

/** `APIResource` of a document at `/apis/GROUP/VERSION`. */
interface ApiResource {
  readonly name: string;
  readonly singularName?: string;
  readonly namespaced?: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

const timeoutMs = 5000;
const aggregator: UserInfo = { username: "system:kube-aggregator", groups: ["system:masters"] };
const accept =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/**
 * Asks an API server once for the document of its group and version, as the check of its availability.
 *
 * Source: k8s.io/kube-aggregator v0.36.3 pkg/controllers/status/remote/remote_available_controller.go, `sync`.
 *
 * @returns HTTP status @throws Error with the real server's words
 */
export async function probe(proxy: ApiServiceProxy, service: RemoteApiService): Promise<number> {
  const request = { method: "GET", url: groupVersionPath(service), headers: {}, user: aggregator };
  const answer = await proxy.send(service, request, timeoutMs);
  answer.destroy();
  return answer.statusCode ?? 0;
}

/** Path of an API service, such as `/apis/example.com/v1`. */
export function groupVersionPath({ group, version }: Pick<RemoteApiService, "group" | "version">): string {
  return `/apis/${group}/${version}`;
}

/**
 * Reads what an API server says about one of its versions: in its aggregated discovery, otherwise in the document of the version.
 *
 * Source: k8s.io/kube-aggregator v0.36.3 pkg/apiserver/handler_discovery.go, `fetchFreshDiscoveryForService`.
 *
 * @throws Error if the server does not answer, or not with such a document
 */
export async function readVersion(proxy: ApiServiceProxy, service: RemoteApiService): Promise<VersionDiscovery> {
  const { group, version } = service;
  const answer = await get(proxy, service, { url: "/apis", user: aggregator, headers: { accept } });
  if (answer.status === 503) throw new Error(`read discovery of ${service.name}: HTTP status 503`);
  if (answer.status === 200 && isAggregated(answer.contentType)) {
    const { items = [] } = JSON.parse(answer.body) as { items?: { metadata?: { name?: string }; versions?: VersionDiscovery[] }[] };
    const found = items.find(({ metadata }) => metadata?.name === group)?.versions?.find((each) => each.version === version);
    return found === undefined ? { version } : withKinds(found);
  }
  const url = groupVersionPath(service);
  const legacy = await get(proxy, service, { url, user: { ...aggregator, groups: [] }, headers: { accept: "application/json" } });
  if (legacy.status !== 200) throw new Error(`read discovery of ${service.name} at ${url}: HTTP status ${legacy.status}`);
  const { resources = [] } = JSON.parse(legacy.body) as { resources?: ApiResource[] };
  return { version, resources: aggregatedResources(resources) };
}

/**
 * Paths of an API server's OpenAPI v3 documents of its group; none if it has no such documents. Unlike on the real server, it cannot take the
 * place of documents of other groups.
 *
 * @throws Error if it does not answer, or not with such a document
 */
export async function readOpenApiPaths(proxy: ApiServiceProxy, service: RemoteApiService): Promise<Readonly<Record<string, OpenApiPath>>> {
  const answer = await get(proxy, service, { url: "/openapi/v3", user: { username: "system:aggregator", groups: [] } });
  if (answer.status !== 200) return {};
  const { paths } = JSON.parse(answer.body) as { paths?: Record<string, OpenApiPath> | null };
  const own = `apis/${service.group}`;
  return Object.fromEntries(Object.entries(paths ?? {}).filter(([path]) => path === own || path.startsWith(`${own}/`)));
}

function get(
  proxy: ApiServiceProxy,
  service: RemoteApiService,
  { url, user, headers = {} }: Pick<ForwardedRequest, "url" | "user"> & { readonly headers?: ForwardedRequest["headers"] },
): Promise<ReadAnswer> {
  return proxy.read(service, { method: "GET", url, headers, user }, timeoutMs);
}

/** Whether a response has the type of one of the asked documents. */
function isAggregated(contentType = ""): boolean {
  const parameters = contentType.split(";").map((part) => part.trim());
  return (
    parameters.includes("g=apidiscovery.k8s.io") &&
    parameters.includes("as=APIGroupDiscoveryList") &&
    (parameters.includes("v=v2") || parameters.includes("v=v2beta1"))
  );
}

const noKind: ResponseKind = { group: "", version: "", kind: "" };

/** Adds the kinds that are missing, because clients require them. */
function withKinds(found: VersionDiscovery): VersionDiscovery {
  const resources = found.resources?.map((resource) => ({
    ...resource,
    responseKind: { ...noKind, ...resource.responseKind },
    ...(resource.subresources === undefined
      ? {}
      : { subresources: resource.subresources.map((each) => ({ ...each, responseKind: { ...noKind, ...each.responseKind } })) }),
  }));
  return { ...found, ...(resources === undefined ? {} : { resources }) };
}

/**
 * Converts the resources of an `APIResourceList`.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/installer.go, `ConvertGroupVersionIntoToDiscovery`.
 *
 * @throws Error if a subresource has another scope than its resource
 */
export function aggregatedResources(list: readonly ApiResource[]): Resource[] {
  const resources = new Map<string, Resource>();
  const subresources = new Map<string, Subresource[]>();
  for (const each of list) if (!each.name.includes("/")) resources.set(each.name, resourceOf(each));
  for (const each of list) {
    const slash = each.name.indexOf("/");
    if (slash < 0) continue;
    const [parentName, subresource] = [each.name.slice(0, slash), each.name.slice(slash + 1)];
    const scope = scopeOf(each);
    const parent = resources.get(parentName) ?? { resource: parentName, responseKind: noKind, scope, singularResource: "", verbs: null };
    resources.set(parentName, parent);
    if (parent.scope !== scope)
      throw new Error(`read discovery: ${parentName} (scope: ${parent.scope}) and ${subresource} (scope: ${scope}) scope do not match`);
    const others = subresources.get(parentName) ?? [];
    subresources.set(parentName, [...others, { subresource, responseKind: kindOf(each), verbs: each.verbs }]);
  }
  return [...resources.values()].map((resource) => {
    const own = subresources.get(resource.resource);
    return own === undefined ? resource : { ...resource, subresources: own };
  });
}

function resourceOf(resource: ApiResource): Resource {
  const { name, verbs, shortNames, categories, singularName = "" } = resource;
  return {
    resource: name,
    responseKind: kindOf(resource),
    scope: scopeOf(resource),
    singularResource: singularName,
    verbs,
    ...(shortNames === undefined ? {} : { shortNames }),
    ...(categories === undefined ? {} : { categories }),
  };
}

function scopeOf({ namespaced = false }: ApiResource): string {
  return namespaced ? "Namespaced" : "Cluster";
}

function kindOf({ group = "", version = "", kind = "" }: ApiResource): ResponseKind {
  return kind === "" ? noKind : { group, version, kind };
}
