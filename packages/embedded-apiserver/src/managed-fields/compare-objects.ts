import { ownValue } from "@virtual-kubelet/kubernetes";
import { equalJson, isJsonObject, type JsonValue } from "../json/json-value.ts";
import { difference, emptySet, type FieldSet } from "./field-set.ts";
import { itemsByElement } from "./list-items.ts";
import { type ListType, type MapType, type MergeType, typeOfField, typeOfValue } from "./merge-type.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { sharedSets } from "./shared-sets.ts";

/** Differences between two objects. No field is in more than one of the sets. */
export interface Comparison {
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly added: FieldSet;
}

/** The differences without the fields, and without all fields below them. */
export function withoutFields({ removed, modified, added }: Comparison, fields: FieldSet): Comparison {
  return {
    removed: difference(removed, fields, "recursive"),
    modified: difference(modified, fields, "recursive"),
    added: difference(added, fields, "recursive"),
  };
}

/**
 * Compares two objects of a type. Parts that both share are not visited.
 *
 * Source: sigs.k8s.io/structured-merge-diff/v6 v6.3.3 typed/compare.go.
 *
 * @throws ItemError if an item of a list cannot be identified
 */
export function compareObjects(type: MergeType, old: JsonValue, changed: JsonValue): Comparison {
  const { removed, modified, added } = compareValues(type, old, changed);
  return { removed: removed ?? emptySet, modified: modified ?? emptySet, added: added ?? emptySet };
}

type Value = JsonValue | undefined;

/** Nodes of the three sets for one value. */
type Nodes = { readonly [Set in keyof Comparison]?: FieldSet | undefined };

const same: Nodes = {};
const leaf: FieldSet = sharedSets.node(true, []);

function compareValues(type: MergeType, old: Value, changed: Value): Nodes {
  if (old === changed) return same;
  if (changed === undefined) return { removed: wholeTree(type, old ?? null) };
  if (old === undefined) return { added: wholeTree(type, changed) };
  const [oldType, newType] = [typeOfValue(type, old), typeOfValue(type, changed)];
  if (kindOf(oldType) === kindOf(newType)) return compareTyped(newType, old, changed);
  return joined(compareTyped(oldType, old, changed), compareTyped(newType, old, changed));
}

function compareTyped({ map, scalar, list }: MergeType, old: JsonValue, changed: JsonValue): Nodes {
  if (map !== undefined) return compareMaps(map, old, changed);
  if (scalar === undefined && list !== undefined) return compareLists(list, old, changed);
  return compareWhole(old, changed);
}

function compareWhole(old: JsonValue, changed: JsonValue): Nodes {
  return equalJson(old, changed) ? same : { modified: leaf };
}

/** Fields of a value that exists in only one of the objects: all of them, also those that have fields below them. */
function wholeTree(type: MergeType, value: JsonValue): FieldSet {
  const { map, scalar, list } = typeOfValue(type, value);
  if (map !== undefined) return map.isAtomic || !isJsonObject<JsonValue>(value) ? leaf : treeOfMap(map, value);
  if (scalar === undefined && list !== undefined) return list.isAtomic || !Array.isArray(value) ? leaf : treeOfList(list, value);
  return leaf;
}

function treeOfMap(type: MapType, value: Readonly<Record<string, JsonValue>>): FieldSet {
  const children: [PathElement, FieldSet][] = [];
  for (const name in value) {
    const child = value[name];
    const fieldType = typeOfField(type, name);
    if (fieldType !== undefined && child !== undefined) children.push([fieldElement(name), wholeTree(fieldType, child)]);
  }
  return sharedSets.node(true, children);
}

function treeOfList(type: ListType, value: readonly JsonValue[]): FieldSet {
  const children: [PathElement, FieldSet][] = [];
  // Duplicates have one owner as a whole.
  for (const [element, items] of itemsByElement(type, value))
    children.push([element, items.length > 1 ? leaf : wholeTree(type.items(), items[0] ?? null)]);
  return sharedSets.node(true, children);
}

/** Collects the nodes of the parts of a value. */
class Parts {
  readonly #removed: [PathElement, FieldSet][] = [];
  readonly #modified: [PathElement, FieldSet][] = [];
  readonly #added: [PathElement, FieldSet][] = [];

  add(element: PathElement, { removed, modified, added }: Nodes): void {
    if (removed !== undefined) this.#removed.push([element, removed]);
    if (modified !== undefined) this.#modified.push([element, modified]);
    if (added !== undefined) this.#added.push([element, added]);
  }

  nodes(): Nodes {
    if (this.#removed.length + this.#modified.length + this.#added.length === 0) return same;
    return { removed: nodeOf(this.#removed), modified: nodeOf(this.#modified), added: nodeOf(this.#added) };
  }
}

function nodeOf(children: readonly (readonly [PathElement, FieldSet])[]): FieldSet | undefined {
  return children.length === 0 ? undefined : sharedSets.node(false, children);
}

function compareMaps(type: MapType, old: JsonValue, changed: JsonValue): Nodes {
  const left = isJsonObject<JsonValue>(old) ? old : {};
  const right = isJsonObject<JsonValue>(changed) ? changed : {};
  // Two empty values are compared as a whole, so that null differs from an empty object.
  if (type.isAtomic || (isEmpty(left) && isEmpty(right))) return compareWhole(old, changed);
  const parts = new Parts();
  const compare = (name: string): void => {
    const [before, after] = [ownValue(left, name), ownValue(right, name)];
    const fieldType = before === after ? undefined : typeOfField(type, name);
    if (fieldType !== undefined) parts.add(fieldElement(name), compareValues(fieldType, before, after));
  };
  for (const name in left) compare(name);
  for (const name in right) if (ownValue(left, name) === undefined) compare(name);
  return parts.nodes();
}

function compareLists(type: ListType, old: JsonValue, changed: JsonValue): Nodes {
  const left = Array.isArray(old) ? old : [];
  const right = Array.isArray(changed) ? changed : [];
  if (type.isAtomic || (left.length === 0 && right.length === 0)) return compareWhole(old, changed);
  const [oldItems, newItems] = [itemsByElement(type, left), itemsByElement(type, right)];
  const parts = new Parts();
  for (const element of new Set([...oldItems.keys(), ...newItems.keys()]))
    parts.add(element, compareItems(type, oldItems.get(element) ?? [], newItems.get(element) ?? []));
  return parts.nodes();
}

/** Compares the items of one element. Duplicates have one owner as a whole. */
function compareItems(type: ListType, old: readonly JsonValue[], changed: readonly JsonValue[]): Nodes {
  if (old.length <= 1 && changed.length <= 1) return compareValues(type.items(), old[0], changed[0]);
  if (old.length > 1 && changed.length > 1) return equalJson(old, changed) ? same : { modified: leaf };
  const [only] = old.length > 1 ? changed : old;
  const tree = only === undefined ? undefined : wholeTree(type.items(), only);
  return old.length > 1 ? { removed: leaf, added: tree } : { added: leaf, removed: tree };
}

/** Differences of a value whose kind has changed, by both kinds. */
function joined(a: Nodes, b: Nodes): Nodes {
  return { removed: b.removed ?? a.removed, modified: b.modified ?? a.modified, added: b.added ?? a.added };
}

function isEmpty(value: object): boolean {
  for (const _key in value) return false;
  return true;
}

function kindOf({ map, scalar, list }: MergeType): number {
  return (map === undefined ? 0 : 1) + (scalar === undefined ? 0 : 2) + (list === undefined ? 0 : 4);
}
