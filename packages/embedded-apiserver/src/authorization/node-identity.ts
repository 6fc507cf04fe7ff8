import type { UserInfo } from "../http/api-request.ts";

const nodesGroup = "system:nodes";
const prefix = "system:node:";

/**
 * Which node a user is.
 *
 * Source: Kubernetes v1.36.3 pkg/auth/nodeidentifier/default.go.
 *
 * @returns the node's name; `""` for a member of `system:nodes` without one; `undefined` for everybody else
 */
export function nodeNameOf({ username, groups }: UserInfo): string | undefined {
  if (!username.startsWith(prefix)) return undefined;
  return groups.includes(nodesGroup) ? username.slice(prefix.length) : undefined;
}
