import type { NodeAccess } from "@virtual-kubelet/core";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";

/** A node that the server answers for. */
export interface ServedNode {
  readonly access: NodeAccess;
  /** Why the node does not work, for `/healthz`; `undefined` if it does. Default: never a problem. */
  readonly problem?: (() => string | undefined) | undefined;
}

/** A pod and the node it is bound to. */
export interface LocatedPod {
  readonly node: ServedNode;
  readonly pod: DeepReadonly<Pod>;
}

/** The nodes that share one port. */
export class NodeDirectory {
  readonly nodes: readonly ServedNode[];

  constructor(nodes: readonly ServedNode[]) {
    this.nodes = nodes;
  }

  named(name: string): ServedNode | undefined {
    return this.nodes.find(({ access }) => access.nodeName === name);
  }

  /** Finds a pod by name, on any node or on the given one. A name belongs to one pod at a time, so at most one node has it. */
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
