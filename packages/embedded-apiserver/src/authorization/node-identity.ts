import type { UserInfo } from "../authentication/user-info.ts";

const nodesGroup = "system:nodes";
const prefix = "system:node:";

/**
 * Name of the node that a user represents.
 *
 * Source: Kubernetes v1.36.3 pkg/auth/nodeidentifier/default.go.
 *
 * @returns `""` for the user `system:node:` without a name; `undefined` for users that are not nodes
 */
export function nodeNameOf({ username, groups }: UserInfo): string | undefined {
  if (!username.startsWith(prefix)) return undefined;
  return groups.includes(nodesGroup) ? username.slice(prefix.length) : undefined;
}
