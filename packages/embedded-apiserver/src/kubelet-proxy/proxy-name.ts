import { badRequest } from "../errors/api-status-error.ts";

/** Name in a request below `/proxy`. */
export interface ProxyName {
  /** `http`, `https`, or empty. */
  readonly scheme: string;
  readonly name: string;
  /** Empty if there is none. */
  readonly port: string;
}

/**
 * Parses `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/net/port_split.go.
 *
 * @param what - such as `node`, for the message
 * @throws ApiStatusError 400
 */
export function parseProxyName(asked: string, what: string): ProxyName {
  const parts = asked.split(":");
  const [scheme = "", name = "", port = ""] = parts.length === 3 ? parts : ["", parts[0], parts[1]];
  if (parts.length > 3 || name === "" || !/^(https?)?$/.test(scheme)) throw badRequest(`invalid ${what} request ${JSON.stringify(asked)}`);
  return { scheme, name, port };
}

/** The path after `/proxy` as sent, `/` if there is none, and the path before it. */
export function proxyPathsOf(url: string): { readonly below: string; readonly prefix: string } {
  const [, prefix = "", below = ""] = /^([^?]*?\/(?:nodes|pods|services)\/[^/?]+\/proxy)([^]*)$/.exec(url) ?? [];
  return { below: below.startsWith("/") ? below : `/${below}`, prefix };
}
