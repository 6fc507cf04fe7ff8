import { badRequest, methodNotAllowed, noSuchResource, notFound } from "../errors/api-status-error.ts";
import { componentStatusKind } from "../kinds/component-status.ts";
import type { Kind } from "../kinds/kind.ts";
import { findKind } from "../rest/rest-context.ts";
import type { Answer, ApiRequest, ApiResponse } from "./api-request.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import { getComponentStatus, listComponentStatuses } from "./component-statuses.ts";
import { inEncoding } from "./encoded-response.ts";
import { negotiateOutput } from "./negotiation.ts";
import { booleanOf } from "./query-options.ts";
import { getVerb, listVerb } from "./read-verbs.ts";
import type { ResourceTarget } from "./request-target.ts";
import type { ResourceCall, ResourceContext } from "./resource-call.ts";
import { bindingVerb, isConnected, subresourceVerbs } from "./subresources.ts";
import { runVerb, type Verbs, writing } from "./verb.ts";
import { createVerb, deleteCollectionVerb, deleteVerb, patchVerb, replaceVerb } from "./write-verbs.ts";

const objectVerbs = {
  GET: getVerb,
  PUT: writing(replaceVerb),
  PATCH: writing(patchVerb),
  DELETE: writing(deleteVerb),
} as const;
const collectionVerbs = { GET: listVerb, POST: writing(createVerb), DELETE: writing(deleteCollectionVerb) } as const;
const allNamespacesVerbs = { GET: listVerb } as const;
const bindingsVerbs = { POST: writing(bindingVerb) } as const;
/** A collection of namespaces cannot be deleted. */
const namespaceCollectionVerbs = { GET: listVerb, POST: writing(createVerb) } as const;

/**
 * Handles a request for a resource.
 *
 * @param warnings - collects warnings for the client, also if an error is thrown
 * @returns `undefined` if the API group or version does not exist, and for paths that the handler of custom resources leaves to others
 * @throws ApiStatusError
 */
export function handleResource(
  context: ResourceContext,
  request: ApiRequest,
  { target, query, user, warnings }: { target: ResourceTarget; query: URLSearchParams; user: UserInfo; warnings: string[] },
): Answer | undefined {
  const { kinds } = context.rest;
  if (!kinds.some(({ group, version }) => group === target.group && version === target.version)) return undefined;
  const { isWatch } = target;
  if (isWatch) toWatchQuery(request, target, query);
  const isBindings = target.group === "" && target.plural === "bindings" && target.name === undefined && request.method === "POST";
  const kind = isBindings ? findKind(context.rest, "", "pods") : (kindOf(kinds, target) ?? computedKind(target));
  if (kind === undefined) {
    if (isBuiltInGroup(kinds, target.group)) throw noSuchResource();
    return undefined;
  }
  if (kind.custom !== undefined && !isInScope(kind, target, request.method)) return undefined;
  const isConnection = isConnected(kind, target.subresource);
  if (isConnection && query.has("dryRun")) throw badRequest("dryRun is not supported");
  const named = isWatch ? { ...target, name: undefined } : target;
  const call: ResourceCall = {
    request,
    query,
    target: named,
    kind,
    user,
    output: negotiateOutput(isConnection ? undefined : request.headers["accept"], {
      isCustom: kind.custom !== undefined,
      isWatch: isWatch || (target.name === undefined && booleanOf(query, "watch") === true),
    }),
    warnings,
  };
  const verbs: Verbs = isBindings ? bindingsVerbs : verbsOf(call);
  warnAboutDeprecation(call, verbs);
  const response = runVerb(verbs, context, call);
  const finished = (answer: ApiResponse): ApiResponse => inEncoding(answer, call.output.encoding);
  return response instanceof Promise ? response.then(finished) : finished(response);
}

/** Whether a group has built-in kinds, and not only custom resources. */
export function isBuiltInGroup(kinds: readonly Kind[], group: string): boolean {
  return kinds.some((kind) => kind.group === group && kind.custom === undefined);
}

/**
 * Whether the path is one of a custom resource of this scope. Only lists and watches may be of all namespaces.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/customresource_handler.go, `ServeHTTP`.
 */
function isInScope({ namespaced }: Kind, { namespace, name, isWatch }: ResourceTarget, method: string): boolean {
  if (!namespaced) return namespace === undefined;
  return namespace !== undefined || (method === "GET" && (name === undefined || isWatch === true));
}

/** Changes the query of a path such as `/api/v1/watch/pods` to that of the collection. @throws ApiStatusError 405 */
function toWatchQuery({ method }: ApiRequest, { name }: ResourceTarget, query: URLSearchParams): void {
  if (method !== "GET") throw methodNotAllowed();
  query.set("watch", "true");
  if (name !== undefined) query.set("fieldSelector", `metadata.name=${name}`);
}

/** The real server looks up the routes of built-in kinds first. */
function warnAboutDeprecation({ kind: { custom, deprecation }, request, warnings }: ResourceCall, verbs: Verbs): void {
  if (deprecation !== undefined && (custom !== undefined || verbs[request.method] !== undefined)) warnings.push(deprecation);
}

function kindOf(kinds: readonly Kind[], target: ResourceTarget): Kind | undefined {
  return kinds.find(({ group, version, plural }) => group === target.group && version === target.version && plural === target.plural);
}

function computedKind({ group, plural, isWatch }: ResourceTarget): Kind | undefined {
  return group === "" && plural === componentStatusKind.plural && !isWatch ? componentStatusKind : undefined;
}

function collectionVerbsOf({ group, plural, namespaced }: Kind, { namespace }: ResourceTarget): Verbs {
  if (namespaced && namespace === undefined) return allNamespacesVerbs;
  return group === "" && plural === "namespaces" ? namespaceCollectionVerbs : collectionVerbs;
}

function verbsOf({ kind, target }: ResourceCall): Verbs {
  if (target.namespace !== undefined && !kind.namespaced) throw noSuchResource();
  if (kind === componentStatusKind && target.subresource === undefined)
    return { GET: target.name === undefined ? listComponentStatuses : getComponentStatus };
  if (target.name === undefined) return collectionVerbsOf(kind, target);
  if (kind.namespaced && target.namespace === undefined) throw noSuchResource();
  if (target.subresource === undefined) return objectVerbs;
  const verbs = subresourceVerbs(kind, target.subresource);
  // Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/customresource_handler.go, `ServeHTTP`.
  if (verbs === undefined) throw kind.custom === undefined ? noSuchResource() : notFound(kind, target.name);
  return verbs;
}
