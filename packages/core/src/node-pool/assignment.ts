import { createHash } from "node:crypto";

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
    const score = createHash("sha256").update(`${member}\0${node}`).digest("hex");
    if (score <= highest) continue;
    owner = member;
    highest = score;
  }
  return owner;
}
