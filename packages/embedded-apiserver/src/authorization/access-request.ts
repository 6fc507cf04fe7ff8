import { ApiStatusError, forbidden } from "../errors/api-status-error.ts";
import type { UserInfo } from "../http/api-request.ts";
import type { ResourceTarget } from "../http/request-target.ts";

/** What somebody wants to do to a resource. */
export interface ResourceAccess {
  readonly verb: string;
  readonly group: string;
  /** The plural name. */
  readonly resource: string;
  /** `""` for the object itself. */
  readonly subresource: string;
  /** `""`: cluster-scoped, or all namespaces. */
  readonly namespace: string;
  /** `""`: no object in particular. */
  readonly name: string;
  /** What a field selector holds fields to be equal to. */
  readonly fieldValues: ReadonlyMap<string, string>;
}

/** What somebody wants to do to a path that names no resource. */
export interface PathAccess {
  readonly verb: string;
  readonly path: string;
}

/** Something somebody wants to do. */
export type Access = ResourceAccess | PathAccess;

/** Whether an access is to a resource. */
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
 * What a request wants to do.
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

/** The fields that a selector holds to be equal to a value. */
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
 * 403 for an access that nobody allows.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/responsewriters/errors.go, `ForbiddenStatusError`.
 *
 * @param reason - what the authorizers say of it; may be empty
 */
export function accessDenied(user: UserInfo, access: Access, reason: string): ApiStatusError {
  const text = `${sanitized(denial(user, access))}${reason === "" ? "" : `: ${reason}`}`;
  if (isResourceAccess(access)) return forbidden({ group: access.group, plural: access.resource }, access.name, text);
  // The real server has an empty resource here, and leaves it out of the message's beginning.
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

/** Nothing in it must look like HTML. */
function sanitized(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
