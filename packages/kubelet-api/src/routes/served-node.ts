import type { NodeAccess } from "@virtual-kubelet/core";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";

/** A node that the server speaks for. */
export interface ServedNode {
  readonly access: NodeAccess;
  /** What keeps the node from working, for `/healthz`; `undefined` if nothing does. Default: nothing. */
  readonly problem?: (() => string | undefined) | undefined;
}

/** A pod, and the node it is bound to. */
export interface LocatedPod {
  readonly node: ServedNode;
  readonly pod: DeepReadonly<Pod>;
}

/** The nodes of one port. */
export class NodeDirectory {
  readonly nodes: readonly ServedNode[];

  constructor(nodes: readonly ServedNode[]) {
    this.nodes = nodes;
  }

  /** The node of that name. */
  named(name: string): ServedNode | undefined {
    return this.nodes.find(({ access }) => access.nodeName === name);
  }

  /** A pod by its name, on any node, or only on one. A name belongs to one pod at a time, so to one node. */
  findPod(namespace: string, name: string, only?: ServedNode): LocatedPod | undefined {
    let found: LocatedPod | undefined;
    for (const node of only ? [only] : this.nodes) {
      const pod = node.access.findPod(namespace, name);
      if (!pod) continue;
      // While a name moves from one node to another, the pod that is being deleted is the old one.
      if (!pod.metadata?.deletionTimestamp) return { node, pod };
      found ??= { node, pod };
    }
    return found;
  }
}
