import { assignedNodes, ownerOf, rankOf } from "./assignment.ts";

/**
 * Number of durations of a Lease after its expiry, times the rank of an instance among the members, after which it takes a node of another one
 * that nobody runs.
 */
const adoptedAfter = 2;

export interface NodeShareOptions {
  /** Names of all nodes of this instance's list. */
  readonly nodeNames: readonly string[];
  readonly identity: string;
  /** Duration of the nodes' Leases in milliseconds. */
  readonly durationMs: number;
}

/** A node that its owner leaves to nobody. */
export interface AdoptedNode {
  readonly node: string;
  /** Identity of the instance that the node belongs to. */
  readonly owner: string;
}

/**
 * The nodes that an instance should run: those that are assigned to it, and those that it adopts because nobody runs them, although another
 * instance should. That one may not have them in its list, or they may fail there. All times are monotonic, in milliseconds.
 */
export class NodeShare {
  readonly #options: NodeShareOptions;
  #members: readonly string[] = [];
  #assigned: ReadonlySet<string> = new Set();
  #assignedMs = 0;
  /** Owners of adopted nodes, by the nodes' names. */
  readonly #adopted = new Map<string, string>();
  readonly #givenUpMs = new Map<string, number>();

  constructor(options: NodeShareOptions) {
    this.#options = options;
  }

  /** Names of the nodes that belong to this instance, without those that it adopts. */
  get assigned(): ReadonlySet<string> {
    return this.#assigned;
  }

  has(node: string): boolean {
    return this.#assigned.has(node) || this.#adopted.has(node);
  }

  /** Identity of the instance that a node belongs to; `undefined` without members. */
  ownerOf(node: string): string | undefined {
    return ownerOf(node, this.#members);
  }

  /** Shares the nodes among other members. An adopted node stays while its owner is the same. */
  assign(members: readonly string[], nowMs: number): void {
    const { nodeNames, identity } = this.#options;
    this.#members = members;
    this.#assigned = new Set(assignedNodes(nodeNames, members, identity));
    this.#assignedMs = nowMs;
    for (const [node, owner] of this.#adopted) if (this.ownerOf(node) !== owner) this.#adopted.delete(node);
  }

  /**
   * Adopts nodes. Members of a lower rank wait longer, so that they do not all try.
   *
   * @param heardMs - time of the last news of the group's Leases
   * @param renewedMs - returns when the last renewal of a node's Lease was seen, 0 for a node without one; `undefined` keeps the node from
   *   being adopted
   * @returns nodes that were not adopted before
   */
  adopt(heardMs: number, renewedMs: (node: string) => number | undefined): AdoptedNode[] {
    const { nodeNames, identity, durationMs } = this.#options;
    const adopted: AdoptedNode[] = [];
    for (const node of nodeNames) {
      const seenMs = this.has(node) ? undefined : renewedMs(node);
      if (seenMs === undefined) continue;
      const sinceMs = Math.max(seenMs, this.#assignedMs, this.#givenUpMs.get(node) ?? 0);
      const durations = (heardMs - sinceMs) / durationMs - 1;
      if (durations < adoptedAfter || durations < adoptedAfter * rankOf(node, this.#members, identity)) continue;
      const owner = this.ownerOf(node);
      if (owner === undefined) continue;
      this.#adopted.set(node, owner);
      adopted.push({ node, owner });
    }
    return adopted;
  }

  /** Gives up an adopted node that another instance runs. @returns whether it was adopted */
  giveUp(node: string, nowMs: number): boolean {
    if (!this.#adopted.delete(node)) return false;
    this.#givenUpMs.set(node, nowMs);
    return true;
  }
}
