import type { FieldSet } from "./field-set.ts";

/** Nodes that are kept; more than the different nodes of most clusters. */
const limit = 20_000;

/**
 * Lets equal sets, and equal parts of sets, share memory: the fields of pods that one controller creates are nearly the same.
 */
export class SharedSets {
  #nodes = new Map<string, FieldSet>();
  #numbers = new WeakMap<FieldSet, number>();
  #last = 0;

  /** The shared set that is equal to this one. */
  share(set: FieldSet): FieldSet {
    if (this.#numbers.has(set)) return set;
    if (this.#nodes.size > limit) this.#nodes = new Map();
    let key = "";
    const result: Record<string, FieldSet> = {};
    for (const [element, node] of Object.entries(set)) {
      const shared = this.share(node);
      result[element] = shared;
      key += `${element}\n${this.#numbers.get(shared)}\n`;
    }
    let known = this.#nodes.get(key);
    if (known === undefined) {
      known = result;
      this.#nodes.set(key, known);
      this.#numbers.set(known, ++this.#last);
    }
    return known;
  }
}
