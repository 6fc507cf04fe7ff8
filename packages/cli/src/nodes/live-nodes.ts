import type { VirtualNode } from "@virtual-kubelet/core";
import type { ServedNode } from "@virtual-kubelet/kubelet-api";

/** The used part of {@link "@virtual-kubelet/core"!VirtualNode}. */
type UsedNode = Pick<VirtualNode, "access" | "health" | "node" | "inspect">;

/** A node that the program runs now. */
export interface LiveNode extends ServedNode {
  readonly name: string;
  /** Name in the settings; it differs for a node that was discovered at the back end. */
  readonly configured: string;
  /** Port of the kubelet's API; 0 for none. */
  readonly port: number;
  readonly leaseMs: number;
  readonly node: UsedNode;
}

/** The nodes that the program runs now: all of them, and those of each port. Both lists change while the program runs. */
export class LiveNodes {
  readonly all: readonly LiveNode[] = [];
  readonly #byPort = new Map<number, LiveNode[]>();

  /** Nodes whose kubelet's API is on the port; always the same list. */
  at(port: number): readonly LiveNode[] {
    return this.#listAt(port);
  }

  /** Adds a node; disposing of the result removes it. */
  add(fields: Omit<LiveNode, keyof ServedNode>): Disposable {
    const { node, port } = fields;
    const entry: LiveNode = { ...fields, access: node.access, problem: () => problemOf(node) };
    const lists = [this.all as LiveNode[], this.#listAt(port)];
    for (const list of lists) list.push(entry);
    return {
      [Symbol.dispose]: () => {
        for (const list of lists) list.splice(list.indexOf(entry) >>> 0, 1);
      },
    };
  }

  #listAt(port: number): LiveNode[] {
    const list = this.#byPort.get(port) ?? [];
    this.#byPort.set(port, list);
    return list;
  }
}

function problemOf({ health }: UsedNode): string | undefined {
  return health.ready ? undefined : "the node is not registered, or its pods are not listed yet";
}
