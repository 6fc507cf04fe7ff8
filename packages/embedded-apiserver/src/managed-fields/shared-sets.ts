import type { FieldSet } from "./field-set.ts";
import { compareElements, type PathElement } from "./path-element.ts";

/** Nodes that are kept. Common ones are soon known again after the table has been emptied; most others occur once. */
const limit = 2000;
const leaf: FieldSet = {};
const self = ".";

/**
 * Lets equal sets, and equal parts of sets, be the same objects: the fields of pods that one controller creates are nearly the same.
 */
export class SharedSets {
  #nodes = new Map<string, FieldSet>();
  readonly #numbers = new WeakMap<FieldSet, number>([[leaf, 0]]);
  #last = 0;

  /** Node with these children, in any order. @param children - must not be empty unless the node is a member */
  node(isMember: boolean, children: readonly (readonly [PathElement, FieldSet])[]): FieldSet {
    if (children.length === 0) return leaf;
    const ordered = isOrdered(children) ? children : children.toSorted(([a], [b]) => compareElements(a, b));
    let key = isMember ? `${self}\n` : "";
    for (const [element, child] of ordered) key += `${element}\n${this.#numberOf(child)}\n`;
    return this.#nodes.get(key) ?? this.#add(key, Object.fromEntries(isMember ? [[self, leaf], ...ordered] : ordered));
  }

  /** The shared set that is equal to this one. */
  share(set: FieldSet): FieldSet {
    if (this.#numbers.has(set)) return set;
    const children = Object.entries(set);
    if (children.length === 0) return leaf;
    const isMember = self in set;
    const others = isMember ? children.filter(([element]) => element !== self) : children;
    return this.node(
      isMember,
      others.map(([element, child]) => [element, this.share(child)]),
    );
  }

  #numberOf(node: FieldSet): number {
    return this.#numbers.get(node) ?? this.#numbers.get(this.share(node)) ?? 0;
  }

  #add(key: string, node: FieldSet): FieldSet {
    if (this.#nodes.size > limit) this.#nodes = new Map();
    this.#nodes.set(key, node);
    this.#numbers.set(node, ++this.#last);
    return node;
  }
}

function isOrdered(children: readonly (readonly [PathElement, FieldSet])[]): boolean {
  for (let index = 1; index < children.length; index++) {
    const [before, after] = [children[index - 1], children[index]];
    if (before !== undefined && after !== undefined && compareElements(before[0], after[0]) > 0) return false;
  }
  return true;
}

/** The sets of this process. */
export const sharedSets: SharedSets = new SharedSets();
