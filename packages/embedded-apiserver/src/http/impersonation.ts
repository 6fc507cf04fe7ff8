import { badRequest } from "../api-status-error.ts";
import { type Access, accessDenied } from "../authorization/access-request.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { ApiRequest, UserInfo } from "./api-request.ts";

const userHeader = "impersonate-user";
const groupHeader = "impersonate-group";
const uidHeader = "impersonate-uid";
const extraPrefix = "impersonate-extra-";
const authenticated = "system:authenticated";
const unauthenticated = "system:unauthenticated";

/**
 * Who a request wants to be taken for: its `Impersonate-*` headers, which its sender must be allowed to send.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/filters/impersonation, the modes with the verb `impersonate`.
 *
 * @returns the sender if there are no such headers
 * @throws ApiStatusError 400 or 403
 */
export function impersonated(authorizer: Authorizer, { headers }: ApiRequest, sender: UserInfo): UserInfo {
  const username = headers[userHeader] ?? "";
  const groups = valuesOf(headers[groupHeader]);
  const uid = headers[uidHeader] ?? "";
  const extra = extraOf(headers);
  const hasExtra = Object.keys(extra).length > 0;
  if (username === "") {
    if (groups.length > 0 || uid !== "" || hasExtra) throw badRequest(withoutUser({ groups, uid, extra }));
    return sender;
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username);
  const check = (access: Partial<Access> & { readonly resource: string; readonly name: string }): void => {
    const whole: Access = { verb: "impersonate", group: "", subresource: "", namespace: "", fieldValues: new Map(), ...access };
    const { isAllowed, reason } = authorizer.authorize(sender, whole);
    if (!isAllowed) throw accessDenied(sender, whole, reason);
  };
  if (account === null) check({ resource: "users", name: username });
  else check({ resource: "serviceaccounts", namespace: account[1] ?? "", name: account[2] ?? "" });
  if (uid !== "") check({ group: "authentication.k8s.io", resource: "uids", name: uid });
  for (const group of groups) check({ resource: "groups", name: group });
  for (const [key, values] of Object.entries(extra))
    for (const value of values) check({ group: "authentication.k8s.io", resource: "userextras", subresource: key, name: value });
  const known = groups.length > 0 || account === null ? groups : ["system:serviceaccounts", `system:serviceaccounts:${account[1]}`];
  return { username, groups: withAuthentication(username, known), ...(uid === "" ? {} : { uid }), ...(hasExtra ? { extra } : {}) };
}

function withAuthentication(username: string, groups: readonly string[]): readonly string[] {
  const own = username === "system:anonymous" || groups.includes(unauthenticated) ? unauthenticated : authenticated;
  return groups.includes(own) ? groups : [...groups, own];
}

/** Node.js joins the lines of a header that comes several times. */
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

function withoutUser({
  groups,
  uid,
  extra,
}: {
  groups: readonly string[];
  uid: string;
  extra: Readonly<Record<string, readonly string[]>>;
}): string {
  const list = (values: readonly string[]): string => `[]string{${values.map((value) => JSON.stringify(value)).join(", ")}}`;
  const goGroups = groups.length === 0 ? "[]string(nil)" : list(groups);
  const entries = Object.entries(extra).map(([key, values]) => `${JSON.stringify(key)}:${list(values)}`);
  const goExtra = entries.length === 0 ? "map[string][]string(nil)" : `map[string][]string{${entries.join(", ")}}`;
  const wanted = `&user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${goGroups}, Extra:${goExtra}}`;
  return `requested ${wanted} without impersonating a user name`;
}
