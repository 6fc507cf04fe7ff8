import { ApiStatusError, badRequest } from "../errors/api-status-error.ts";
import { type Access, accessDenied } from "../authorization/access-request.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { ApiRequest } from "../http/api-request.ts";
import type { UserInfo } from "./user-info.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/endpoints/filters/impersonation. */

const userHeader = "impersonate-user";
const groupHeader = "impersonate-group";
const uidHeader = "impersonate-uid";
const extraPrefix = "impersonate-extra-";
const authenticated = "system:authenticated";
const unauthenticated = "system:unauthenticated";
const nodeNameExtra = "authentication.kubernetes.io/node-name";

/** User that the impersonation headers describe. */
interface Wanted {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
  /** Whether only the user name is given. */
  readonly isNameOnly: boolean;
  /** Name of the node, if the user is one. */
  readonly node: string | undefined;
  /** Namespace and name, if the user is a service account. */
  readonly account: readonly [namespace: string, name: string] | undefined;
}

/** A permission that allows impersonation. `constraint` is part of the checked verbs; without it the verb is `impersonate`. */
type Mode = { readonly constraint?: "associated-node" | "arbitrary-node" | "serviceaccount" | "user-info" };

/** Sender of a request, and the access it requests. */
export interface Sender {
  readonly user: UserInfo;
  readonly access: Access;
}

/**
 * User that a request impersonates with `Impersonate-*` headers, if its sender is allowed to.
 *
 * @returns the sender if there are no such headers
 * @throws ApiStatusError 400 or 403
 */
export function impersonated(authorizer: Authorizer, { headers }: ApiRequest, sender: Sender): UserInfo {
  const wanted = wantedUser(headers);
  if (wanted === undefined) return sender.user;
  let refusal: ApiStatusError | undefined;
  for (const mode of modesFor(wanted, sender.user)) {
    try {
      checkMode(authorizer, sender, wanted, mode);
      return actualUser(wanted, mode);
    } catch (error) {
      if (!(error instanceof ApiStatusError)) throw error;
      // The error of the first and narrowest mode is reported.
      refusal ??= error;
    }
  }
  throw refusal ?? new RangeError("impersonate: no mode was tried, although the unconstrained one always applies");
}

function wantedUser(headers: ApiRequest["headers"]): Wanted | undefined {
  const username = headers[userHeader] ?? "";
  const uid = headers[uidHeader] ?? "";
  const groups = valuesOf(headers[groupHeader]);
  const extra = extraOf(headers);
  const isNameOnly = uid === "" && groups.length === 0 && Object.keys(extra).length === 0;
  if (username === "") {
    if (isNameOnly) return undefined;
    throw badRequest(withoutUser({ groups, uid, extra }));
  }
  const [, node] = /^system:node:(.+)$/.exec(username) ?? [];
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
  const account = namespace === undefined || name === undefined ? undefined : ([namespace, name] as const);
  return { username, uid, groups, extra, isNameOnly, node, account };
}

function modesFor({ isNameOnly, node, account }: Wanted, sender: UserInfo): Mode[] {
  const modes: Mode[] = [];
  const own = sender.username.startsWith("system:serviceaccount:") ? sender.extra?.[nodeNameExtra]?.[0] : undefined;
  if (isNameOnly && node !== undefined && node === own) modes.push({ constraint: "associated-node" });
  if (isNameOnly && node !== undefined) modes.push({ constraint: "arbitrary-node" });
  if (isNameOnly && account !== undefined) modes.push({ constraint: "serviceaccount" });
  if (node === undefined && account === undefined) modes.push({ constraint: "user-info" });
  return [...modes, {}];
}

function checkMode(authorizer: Authorizer, sender: Sender, wanted: Wanted, { constraint }: Mode): void {
  const check = (access: Access, refused?: string): void => {
    const { isAllowed, reason } = authorizer.authorize(sender.user, access);
    if (!isAllowed || refused !== undefined) throw accessDenied(sender.user, access, refused ?? reason);
  };
  const verb = constraint === undefined ? "impersonate" : `impersonate:${constraint}`;
  const group = constraint === undefined ? "" : "authentication.k8s.io";
  const part = (access: {
    readonly resource: string;
    readonly name: string;
    readonly namespace?: string;
    readonly subresource?: string;
  }): Access => ({
    verb,
    group: access.resource === "uids" || access.resource === "userextras" ? "authentication.k8s.io" : group,
    namespace: "",
    subresource: "",
    fieldValues: new Map(),
    ...access,
  });
  if (constraint !== undefined) check({ ...sender.access, verb: `impersonate-on:${constraint}:${sender.access.verb}` });
  const { username, uid, groups, extra, node, account } = wanted;
  if (constraint === "associated-node") check(part({ resource: "nodes", name: "*" }));
  else if (constraint === "arbitrary-node") check(part({ resource: "nodes", name: node ?? "" }));
  else if (account !== undefined) check(part({ resource: "serviceaccounts", namespace: account[0], name: account[1] }));
  else check(part({ resource: "users", name: username }));
  if (uid !== "") check(part({ resource: "uids", name: uid }));
  for (const name of groups) {
    const isRefused = constraint !== undefined && name === "system:masters";
    check(part({ resource: "groups", name }), isRefused ? "impersonating the system:masters group is not allowed" : undefined);
  }
  for (const [subresource, values] of Object.entries(extra))
    for (const name of values) check(part({ resource: "userextras", subresource, name }));
}

function actualUser({ username, uid, groups, extra, account }: Wanted, { constraint }: Mode): UserInfo {
  const isNode = constraint === "associated-node" || constraint === "arbitrary-node";
  const accountGroups = account === undefined ? [] : ["system:serviceaccounts", `system:serviceaccounts:${account[0]}`];
  const known = isNode ? ["system:nodes"] : groups.length > 0 ? groups : accountGroups;
  const own = username === "system:anonymous" ? unauthenticated : authenticated;
  const isComplete = known.includes(own) || known.includes(unauthenticated);
  return {
    username,
    ...(uid === "" ? {} : { uid }),
    groups: isComplete ? known : [...known, own],
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** Node.js joins repeated headers with commas. */
function valuesOf(header: string | undefined): string[] {
  return header === undefined ? [] : header.split(", ").filter((value) => value !== "");
}

function extraOf(headers: ApiRequest["headers"]): Record<string, readonly string[]> {
  const extra: Record<string, readonly string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (name.startsWith(extraPrefix)) extra[unescaped(name.slice(extraPrefix.length))] = valuesOf(value);
  return extra;
}

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** Same wording as the real server, which prints its own struct. */
function withoutUser({ groups, uid, extra }: Pick<Wanted, "groups" | "uid" | "extra">): string {
  const list = (values: readonly string[]): string => `[]string{${values.map((value) => JSON.stringify(value)).join(", ")}}`;
  const goGroups = groups.length === 0 ? "[]string(nil)" : list(groups);
  const entries = Object.entries(extra).map(([key, values]) => `${JSON.stringify(key)}:${list(values)}`);
  const goExtra = entries.length === 0 ? "map[string][]string(nil)" : `map[string][]string{${entries.join(", ")}}`;
  const wanted = `&user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${goGroups}, Extra:${goExtra}}`;
  return `requested ${wanted} without impersonating a user name`;
}
