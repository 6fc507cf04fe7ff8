import type { NodeSettings } from "./settings.ts";

/** Maximum of `nodes[].count`: twice the number of nodes that Kubernetes supports in a cluster. */
export const maxNodeCount = 10_000;

const maxNameLength = 253;

type Named = Pick<NodeSettings, "name" | "count">;

/** A name that an entry of the configuration must not have. */
interface NameProblem {
  /** Index of the entry. */
  readonly index: number;
  readonly input: string;
  readonly message: string;
}

/**
 * Names of the nodes that an entry stands for. An entry `sim` with a count of 2 stands for `sim-0` and `sim-1`. Names are checked even if the
 * count is refused, so it may be any number.
 */
function nodeNames({ name, count }: Named): string[] {
  return count === undefined ? [name] : Array.from({ length: Math.min(count, maxNodeCount) }, (_, number) => `${name}-${number}`);
}

/** Entry of the configuration that a node comes from. */
export interface NodeEntry {
  /** Index of the entry. */
  readonly index: number;
  /** Name of the entry, which is the node's name if the entry has no count. */
  readonly name: string;
}

/** Expands entries with a count. `entries` has the entry of each node. */
export function expandNodes<T extends Named>(listed: readonly T[]): { readonly nodes: T[]; readonly entries: NodeEntry[] } {
  const nodes: T[] = [];
  const entries: NodeEntry[] = [];
  for (const [index, entry] of listed.entries()) {
    for (const name of nodeNames(entry)) {
      nodes.push({ ...entry, name, count: undefined });
      entries.push({ index, name: entry.name });
    }
  }
  return { nodes, entries };
}

/** Entries whose nodes have the name of another entry's node, or too long a name; at most one problem for each entry. */
export function nameProblems(listed: readonly Named[]): NameProblem[] {
  const owners = new Map<string, number>();
  return listed.flatMap((entry, index) => {
    const names = nodeNames(entry);
    const taken = names.find((name) => owners.has(name));
    const tooLong = names.find((name) => name.length > maxNameLength);
    for (const name of names) if (!owners.has(name)) owners.set(name, index);
    const message =
      taken !== undefined
        ? clash(taken, entry, owners.get(taken) ?? 0)
        : tooLong !== undefined && entry.count !== undefined
          ? `expected at most ${maxNameLength - (tooLong.length - entry.name.length)} characters, because the nodes' numbers follow`
          : undefined;
    return message === undefined ? [] : [{ index, input: entry.name, message }];
  });
}

function clash(name: string, entry: Named, other: number): string {
  const expected = "expected a unique name among the nodes";
  if (name === entry.name) return expected;
  return `${expected}: the count makes it stand for ${name}, as nodes[${other}] does; choose another name, or a smaller count`;
}
