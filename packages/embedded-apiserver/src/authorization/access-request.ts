import { ApiStatusError, forbidden } from "../errors/api-status-error.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import type { ResourceTarget } from "../http/request-target.ts";

/** A request for a resource, as authorizers see it. */
export interface ResourceAccess {
  readonly verb: string;
  readonly group: string;
  /** Plural name. */
  readonly resource: string;
  /** `""` for the object itself. */
  readonly subresource: string;
  /** `""` for cluster-scoped resources and for all namespaces. */
  readonly namespace: string;
  /** `""` if the request names no object. */
  readonly name: string;
  /** Fields that the field selector requires to have a value. */
  readonly fieldValues: ReadonlyMap<string, string>;
}

/** A request for a path that is not a resource. */
interface PathAccess {
  readonly verb: string;
  readonly path: string;
}

export type Access = ResourceAccess | PathAccess;

export function isResourceAccess(access: Access): access is ResourceAccess {
  return "resource" in access;
}

const verbs: Readonly<Record<string, string>> = {
  POST: "create",
  GET: "get",
  HEAD: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

const noValues: ReadonlyMap<string, string> = new Map();

/**
 * Derives the attributes of a request for authorization.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/request/requestinfo.go, `NewRequestInfo`.
 */
export function accessOf(
  method: string,
  { path, query, target }: { readonly path: string; readonly query: URLSearchParams; readonly target: ResourceTarget | undefined },
): Access {
  if (target === undefined) return { verb: method.toLowerCase(), path };
  const { group, plural, subresource = "" } = target;
  const name = target.name ?? "";
  const namespace = target.namespace ?? (plural === "namespaces" ? name : "");
  const access = { group, resource: plural, subresource, namespace, name, fieldValues: noValues };
  if (target.isWatch) return { ...access, verb: "watch" };
  const verb = verbs[method] ?? "";
  if (name !== "" || (verb !== "get" && verb !== "delete")) return { ...access, verb };
  const fieldValues = equalFields(query.get("fieldSelector") ?? "");
  if (verb === "delete") return { ...access, verb: "deletecollection", fieldValues };
  const selected = fieldValues.get("metadata.name") ?? "";
  return { ...access, verb: asksToWatch(query) ? "watch" : "list", name: /[/%]/.test(selected) ? "" : selected, fieldValues };
}

function asksToWatch(query: URLSearchParams): boolean {
  const watch = query.get("watch");
  return watch !== null && watch !== "0" && watch.toLowerCase() !== "false";
}

/** Fields that a selector requires to equal a value. */
export function equalFields(selector: string): ReadonlyMap<string, string> {
  if (selector === "") return noValues;
  return new Map(
    selector.split(",").flatMap((term): [string, string][] => {
      const [, field, value] = /^([^=!]+)==?(.*)$/.exec(term) ?? [];
      return field === undefined || value === undefined ? [] : [[field, value]];
    }),
  );
}

/**
 * 403 for a request that no authorizer allows.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/responsewriters/errors.go, `ForbiddenStatusError`.
 *
 * @param reason - explanation of the authorizers; may be empty
 */
export function accessDenied(user: UserInfo, access: Access, reason: string): ApiStatusError {
  const text = `${sanitized(denial(user, access))}${reason === "" ? "" : `: ${reason}`}`;
  if (isResourceAccess(access)) return forbidden({ group: access.group, plural: access.resource }, access.name, text);
  // The real server has no resource here and omits it at the beginning of the message.
  return new ApiStatusError({ code: 403, reason: "Forbidden", message: `forbidden: ${text}`, details: {} });
}

function denial({ username }: UserInfo, access: Access): string {
  const user = JSON.stringify(username);
  if (!isResourceAccess(access)) return `User ${user} cannot ${access.verb} path ${JSON.stringify(access.path)}`;
  const { verb, group, resource, subresource, namespace } = access;
  const what = JSON.stringify(subresource === "" ? resource : `${resource}/${subresource}`);
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  return `User ${user} cannot ${verb} resource ${what} in API group ${JSON.stringify(group)} ${where}`;
}

/** Escapes the characters that are special in HTML. */
function sanitized(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
