import { equalJson, isJsonObject, type JsonValue } from "../json/json-value.ts";
import { difference, type FieldSet, FieldSetBuilder } from "./field-set.ts";
import { itemsByElement } from "./list-items.ts";
import { type ListType, type MapType, type MergeType, typeOfField, typeOfValue } from "./merge-type.ts";
import { fieldElement, type PathElement } from "./path-element.ts";

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
  const walk = new CompareWalk();
  walk.value(type, old, changed);
  return { removed: walk.removed.build(), modified: walk.modified.build(), added: walk.added.build() };
}

type Value = JsonValue | undefined;

class CompareWalk {
  readonly removed = new FieldSetBuilder();
  readonly modified = new FieldSetBuilder();
  readonly added = new FieldSetBuilder();
  readonly #path: PathElement[] = [];

  value(type: MergeType, old: Value, changed: Value): void {
    if (old === changed) return;
    const [oldType, newType] = [typeOfValue(type, old), typeOfValue(type, changed)];
    let isLeaf: boolean;
    if (changed === undefined) isLeaf = this.#typed(oldType, old, changed);
    else if (old === undefined || kindOf(oldType) === kindOf(newType)) isLeaf = this.#typed(newType, old, changed);
    else {
      this.#typed(oldType, old, changed);
      isLeaf = this.#typed(newType, old, changed);
    }
    if (isLeaf) return;
    if (old === undefined) this.added.insert(this.#path);
    else if (changed === undefined) this.removed.insert(this.#path);
  }

  /** @returns whether the value has been compared as a whole */
  #typed({ map, scalar, list }: MergeType, old: Value, changed: Value): boolean {
    if (map !== undefined) return this.#map(map, old, changed);
    if (scalar === undefined && list !== undefined) return this.#list(list, old, changed);
    this.#whole(old, changed);
    return true;
  }

  #whole(old: Value, changed: Value): void {
    if (old === undefined) this.added.insert(this.#path);
    else if (changed === undefined) this.removed.insert(this.#path);
    else if (!equalJson(old, changed)) this.modified.insert(this.#path);
  }

  #map(type: MapType, old: Value, changed: Value): boolean {
    const left = isJsonObject<JsonValue>(old) ? old : {};
    const right = isJsonObject<JsonValue>(changed) ? changed : {};
    // Two empty values are compared as a whole, so that null differs from an empty object.
    if (type.isAtomic || (isEmpty(left) && isEmpty(right))) {
      this.#whole(old, changed);
      return true;
    }
    for (const name of Object.keys(left)) this.#field(type, name, left[name], right[name]);
    for (const name of Object.keys(right)) if (left[name] === undefined) this.#field(type, name, undefined, right[name]);
    return false;
  }

  #field(type: MapType, name: string, old: Value, changed: Value): void {
    const fieldType = typeOfField(type, name);
    if (fieldType !== undefined) this.#descend(fieldElement(name), fieldType, old, changed);
  }

  #descend(element: PathElement, type: MergeType, old: Value, changed: Value): void {
    this.#path.push(element);
    this.value(type, old, changed);
    this.#path.pop();
  }

  #list(type: ListType, old: Value, changed: Value): boolean {
    const left = Array.isArray(old) ? old : [];
    const right = Array.isArray(changed) ? changed : [];
    if (type.isAtomic || (left.length === 0 && right.length === 0)) {
      this.#whole(old, changed);
      return true;
    }
    const [oldItems, newItems] = [itemsByElement(type, left), itemsByElement(type, right)];
    for (const element of new Set([...oldItems.keys(), ...newItems.keys()]))
      this.#items(type, element, oldItems.get(element) ?? [], newItems.get(element) ?? []);
    return false;
  }

  /** Duplicates have one owner as a whole. */
  #items(type: ListType, element: PathElement, old: readonly JsonValue[], changed: readonly JsonValue[]): void {
    const path = [...this.#path, element];
    if (old.length <= 1 && changed.length <= 1) this.#descend(element, type.items(), old[0], changed[0]);
    else if (old.length > 1 && changed.length > 1) {
      if (!equalJson(old, changed)) this.modified.insert(path);
    } else if (old.length > 1) {
      if (changed.length > 0) this.#descend(element, type.items(), undefined, changed[0]);
      this.removed.insert(path);
    } else {
      if (old.length > 0) this.#descend(element, type.items(), old[0], undefined);
      this.added.insert(path);
    }
  }
}

function isEmpty(value: object): boolean {
  for (const _key in value) return false;
  return true;
}

function kindOf({ map, scalar, list }: MergeType): string {
  return `${map === undefined ? "" : "m"}${scalar === undefined ? "" : "s"}${list === undefined ? "" : "l"}`;
}
