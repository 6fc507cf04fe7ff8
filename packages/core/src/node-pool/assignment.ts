import { hash } from "node:crypto";

/**
 * Divides nodes among instances by rendezvous hashing: a node belongs to the instance with the highest hash of both names. An instance that
 * leaves or joins moves only the nodes that it had or gets.
 *
 * @param members - identities of live instances, in any order
 * @returns names of the nodes that belong to `identity`, in their order; none if it is no member
 */
export function assignedNodes(nodes: readonly string[], members: readonly string[], identity: string): string[] {
  return nodes.filter((node) => ownerOf(node, members) === identity);
}

/** Identity of the instance that a node belongs to; `undefined` without members. */
export function ownerOf(node: string, members: readonly string[]): string | undefined {
  let owner: string | undefined;
  let highest = "";
  for (const member of members) {
    const score = scoreOf(node, member);
    if (score <= highest) continue;
    owner = member;
    highest = score;
  }
  return owner;
}

/** Number of members to which the node belongs rather than to `identity`; 0 for its owner. */
export function rankOf(node: string, members: readonly string[], identity: string): number {
  const own = scoreOf(node, identity);
  return members.filter((member) => scoreOf(node, member) > own).length;
}

function scoreOf(node: string, member: string): string {
  return hash("sha256", `${member}\0${node}`);
}
