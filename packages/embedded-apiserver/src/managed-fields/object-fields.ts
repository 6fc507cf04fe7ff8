import { isJsonObject, type JsonValue } from "../json/json-value.ts";
import { type FieldSet, FieldSetBuilder } from "./field-set.ts";
import { itemsByElement } from "./list-items.ts";
import { type ListType, type MapType, type MergeType, typeOfField, typeOfValue } from "./merge-type.ts";
import { fieldElement, type PathElement } from "./path-element.ts";

/**
 * All fields of an object, which are those that its applier owns.
 *
 * Source: sigs.k8s.io/structured-merge-diff/v6 v6.3.3 typed/tofieldset.go.
 *
 * @throws ItemError if an item of a list cannot be identified
 */
export function fieldsOfObject(type: MergeType, object: JsonValue): FieldSet {
  const walk = new FieldWalk();
  walk.value(type, object);
  return walk.fields.build();
}

class FieldWalk {
  readonly fields = new FieldSetBuilder();
  readonly #path: PathElement[] = [];

  value(type: MergeType, value: JsonValue): void {
    const { map, scalar, list } = typeOfValue(type, value);
    if (map !== undefined) this.#map(map, value);
    else if (scalar === undefined && list !== undefined) this.#list(list, value);
    else this.#own();
  }

  #own(): void {
    this.fields.insert(this.#path);
  }

  #map(type: MapType, value: JsonValue): void {
    if (type.isAtomic) return this.#own();
    if (!isJsonObject<JsonValue>(value)) return;
    for (const [name, child] of Object.entries(value)) {
      const fieldType = typeOfField(type, name);
      if (fieldType === undefined) continue;
      this.#path.push(fieldElement(name));
      this.value(fieldType, child);
      if (child === null || (isJsonObject(child) && Object.keys(child).length === 0) || type.field(name) === undefined) this.#own();
      this.#path.pop();
    }
  }

  #list(type: ListType, value: JsonValue): void {
    if (type.isAtomic) return this.#own();
    if (!Array.isArray(value)) return;
    for (const [element, items] of itemsByElement(type, value)) {
      this.#path.push(element);
      const [item] = items;
      // Duplicates have one owner as a whole.
      if (items.length === 1 && item !== undefined) this.value(type.items(), item);
      this.#own();
      this.#path.pop();
    }
  }
}
