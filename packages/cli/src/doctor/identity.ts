/** The program's user, as the API server sees it. */
export interface Identity {
  readonly username: string;
  readonly groups: readonly string[];
}

/** Prefix of the user names of nodes. */
export const nodeUserPrefix = "system:node:";

/** Why a user cannot run the nodes, and what helps. */
export interface IdentityProblem {
  readonly message: string;
  readonly repair: readonly string[];
}

/**
 * Returns why a user can run none of the nodes, whatever its rights.
 *
 * @param nodeNames - nodes that the program is to run
 * @param kubectl - makes a command of kubectl with the program's kubeconfig
 * @returns `undefined` if rights decide
 */
export function identityProblem(
  { username, groups }: Identity,
  nodeNames: readonly string[],
  kubectl: (words: string) => string = (words) => `kubectl ${words}`,
): IdentityProblem | undefined {
  if (username === "system:anonymous")
    return {
      message: "the API server sees system:anonymous: no credentials arrived",
      repair: [kubectl("config view --minify"), "# give the context's user a certificate or a token"],
    };
  if (!username.startsWith(nodeUserPrefix)) return undefined;
  const own = username.slice(nodeUserPrefix.length);
  const other = nodeNames.find((name) => name !== own);
  if (other !== undefined)
    return {
      message: `${username} may run only node ${own}, and the API server refuses node ${other} to it`,
      repair: [`# run node ${own} with --nodename ${own}, or use credentials of ${nodeUserPrefix}${other}`],
    };
  if (groups.includes("system:nodes")) return undefined;
  return {
    message: `${username} is not in the group system:nodes, so the Node authorizer grants it nothing`,
    repair: [
      `# get a client certificate with O=system:nodes, CN=${username}, as virtual-kubelet join does; see the guide Access rights and certificates`,
    ],
  };
}
