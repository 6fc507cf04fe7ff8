import type { Answer, Api } from "./api.ts";

/** Sends a request as another user. */
export type AsUser = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** Impersonates a user as the administrator. */
export function asUser(api: Api, user: string, ...groups: readonly string[]): AsUser {
  const headers = { "impersonate-user": user, ...(groups.length === 0 ? {} : { "impersonate-group": groups as unknown as string }) };
  return (method, path, body) => api.request(method, path, { body, headers });
}

/** A node with its own credentials. */
export function asNode(api: Api, node: string): AsUser {
  return asUser(api, `system:node:${node}`, "system:nodes");
}
