import { compareElements, isPathElement, type PathElement } from "./path-element.ts";

/**
 * A set of fields in the form of `fieldsV1`: the children of a node by path element. A node without children is a member of the set; a node
 * with children is a member if it contains the key `.`. The elements are in the order of the real server. A set is never modified, so sets
 * share their unchanged parts.
 *
 * Source of this file: sigs.k8s.io/structured-merge-diff/v6 v6.3.3 fieldpath/set.go and fieldpath/serialize.go.
 */
export interface FieldSet {
  readonly [element: PathElement]: FieldSet;
}

/** The set without members. */
export const emptySet: FieldSet = {};

/** Node that is a member and has no children. */
const leaf: FieldSet = {};
const self = ".";

/** Whether the set has no members. */
export function isEmptySet(set: FieldSet): boolean {
  for (const _key in set) return false;
  return true;
}

function isMember(node: FieldSet | undefined): boolean {
  return node !== undefined && (self in node || isEmptySet(node));
}

function childrenOf(node: FieldSet | undefined): FieldSet {
  if (node === undefined) return emptySet;
  if (!(self in node)) return node;
  const { [self]: _self, ...children } = node;
  return children;
}

/** @returns `undefined` if the node is neither a member nor has children */
function nodeOf(member: boolean, children: FieldSet): FieldSet | undefined {
  if (isEmptySet(children)) return member ? leaf : undefined;
  return member ? { [self]: leaf, ...children } : children;
}

/** Set with exactly these fields. */
export function setOf(...paths: readonly (readonly PathElement[])[]): FieldSet {
  const builder = new FieldSetBuilder();
  for (const path of paths) builder.insert(path);
  return builder.build();
}

/** Collects fields in any order. */
export class FieldSetBuilder {
  readonly #root: DraftNode = { isMember: false, children: new Map() };

  /** Adds a field, but not its parents. The empty path, which is the whole object, is ignored. */
  insert(path: readonly PathElement[]): void {
    if (path.length === 0) return;
    let node = this.#root;
    for (const element of path) {
      let next = node.children.get(element);
      if (next === undefined) node.children.set(element, (next = { isMember: false, children: new Map() }));
      node = next;
    }
    node.isMember = true;
  }

  build(): FieldSet {
    return childrenOf(built(this.#root));
  }
}

interface DraftNode {
  isMember: boolean;
  readonly children: Map<PathElement, DraftNode>;
}

function built({ isMember: member, children }: DraftNode): FieldSet {
  const set: Record<PathElement, FieldSet> = {};
  for (const [element, node] of [...children].toSorted(([a], [b]) => compareElements(a, b))) set[element] = built(node);
  return nodeOf(member, set) ?? emptySet;
}

/** Fields of either set. @returns `a` itself if it contains `b` */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptySet(b)) return a;
  if (isEmptySet(a)) return b;
  let isChanged = false;
  const added: PathElement[] = [];
  const result: Record<PathElement, FieldSet> = {};
  for (const element of Object.keys(b)) if (!(element in a)) added.push(element);
  const elements = added.length === 0 ? Object.keys(a) : [...Object.keys(a), ...added].toSorted(compareElements);
  for (const element of elements) {
    const [left, right] = [a[element], b[element]];
    const node = left === undefined ? right : right === undefined ? left : unionOfNodes(left, right);
    if (node !== left) isChanged = true;
    if (node !== undefined) result[element] = node;
  }
  return isChanged ? result : a;
}

function unionOfNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  const children = childrenOf(a);
  const merged = union(children, childrenOf(b));
  const member = isMember(a) || isMember(b);
  return merged === children && member === isMember(a) ? a : (nodeOf(member, merged) ?? leaf);
}

/** How {@link difference} treats the children of a field of `b`. */
type Depth = "member" | "recursive";

/**
 * Fields of `a` that are not in `b`.
 *
 * @param depth - `recursive` also removes everything below a field of `b`
 * @returns `a` itself if nothing is removed
 */
export function difference(a: FieldSet, b: FieldSet, depth: Depth = "member"): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a;
  let isChanged = false;
  const result: Record<PathElement, FieldSet> = {};
  for (const [element, node] of Object.entries(a)) {
    const other = b[element];
    const rest = other === undefined ? node : differenceOfNodes(node, other, depth);
    if (rest !== node) isChanged = true;
    if (rest !== undefined) result[element] = rest;
  }
  return isChanged ? result : a;
}

function differenceOfNodes(a: FieldSet, b: FieldSet, depth: Depth): FieldSet | undefined {
  if (depth === "recursive" && isMember(b)) return undefined;
  const children = childrenOf(a);
  const rest = difference(children, childrenOf(b), depth);
  const member = isMember(a) && !isMember(b);
  return rest === children && member === isMember(a) ? a : nodeOf(member, rest);
}

/** Fields of both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  const result: Record<PathElement, FieldSet> = {};
  for (const [element, node] of Object.entries(a)) {
    const other = b[element];
    if (other === undefined) continue;
    const common = nodeOf(isMember(node) && isMember(other), intersection(childrenOf(node), childrenOf(other)));
    if (common !== undefined) result[element] = common;
  }
  return result;
}

/** Whether the field is in the set. */
export function hasField(set: FieldSet, path: readonly PathElement[]): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) {
    node = node?.[element];
    if (node === undefined) return false;
  }
  return path.length > 0 && isMember(node);
}

/** The fields below an element, without the element itself. */
export function below(set: FieldSet, element: PathElement): FieldSet {
  return childrenOf(set[element]);
}

/** Whether the element itself is in the set. */
export function hasElement(set: FieldSet, element: PathElement): boolean {
  return isMember(set[element]);
}

/** Set of nodes that `change` keeps, with membership and children that it returns. Elements stay in order. */
export function mapNodes(
  set: FieldSet,
  change: (
    element: PathElement,
    node: { readonly isMember: boolean; readonly children: FieldSet },
  ) => { isMember: boolean; children: FieldSet },
): FieldSet {
  const result: Record<PathElement, FieldSet> = {};
  for (const [element, node] of Object.entries(set)) {
    const { isMember: member, children } = change(element, { isMember: isMember(node), children: childrenOf(node) });
    const changed = nodeOf(member, children);
    if (changed !== undefined) result[element] = changed;
  }
  return result;
}

/** Paths of all fields: at each level the fields first, then those below them, as the real server lists conflicts. */
export function pathsOf(set: FieldSet): PathElement[][] {
  const elements = Object.keys(set).filter((element) => element !== self);
  return [
    ...elements.filter((element) => isMember(set[element])).map((element) => [element]),
    ...elements.flatMap((element) => pathsOf(childrenOf(set[element])).map((path) => [element, ...path])),
  ];
}

/**
 * Brings a set from a request into order.
 *
 * @returns `undefined` if the value is not a set
 */
export function parseFieldSet(value: unknown): FieldSet | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const result: [PathElement, FieldSet][] = [];
  for (const [element, child] of Object.entries(value)) {
    if (element === self || !isPathElement(element)) {
      if (element !== self && !/^.:/.test(element)) return undefined;
      continue;
    }
    const children = parseFieldSet(child);
    if (children === undefined) return undefined;
    const member = self in (child as object) || isEmptySet(children);
    result.push([element, nodeOf(member, children) ?? leaf]);
  }
  return Object.fromEntries(result.toSorted(([a], [b]) => compareElements(a, b)));
}
