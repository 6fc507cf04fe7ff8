/** A virtual node that counts some of the same far nodes. */
export interface Overlap {
  readonly nodeName: string;
  readonly farNodes: readonly string[];
}

/** Far nodes that the virtual nodes of a process select, by far cluster. Two that select the same one count its capacity twice. */
export class SharedSelections {
  readonly #byCluster = new Map<object, Map<string, ReadonlySet<string>>>();

  /** Replaces what a virtual node selects. @returns the other virtual nodes with far nodes in common */
  set(cluster: object, nodeName: string, farNodes: readonly string[]): readonly Overlap[] {
    const ofCluster = this.#byCluster.get(cluster) ?? new Map<string, ReadonlySet<string>>();
    this.#byCluster.set(cluster, ofCluster);
    ofCluster.set(nodeName, new Set(farNodes));
    return [...ofCluster].flatMap(([other, theirs]) => {
      const common = farNodes.filter((name) => theirs.has(name));
      return other === nodeName || common.length === 0 ? [] : [{ nodeName: other, farNodes: common }];
    });
  }

  /** Forgets a virtual node. */
  delete(cluster: object, nodeName: string): void {
    const ofCluster = this.#byCluster.get(cluster);
    ofCluster?.delete(nodeName);
    if (ofCluster?.size === 0) this.#byCluster.delete(cluster);
  }
}
