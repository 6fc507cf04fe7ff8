import { isJsonObject, type JsonValue } from "../json/json-value.ts";
import { GoValue } from "./go-value.ts";
import type { ListType } from "./merge-type.ts";
import { keyElement, type PathElement, valueElement } from "./path-element.ts";

/** An item cannot be identified. The message has the real server's words. */
export class ItemError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ItemError";
  }
}

/**
 * Element of an item of a list that is not atomic.
 *
 * Source: sigs.k8s.io/structured-merge-diff/v6 v6.3.3 typed/helpers.go, `listItemToPathElement`.
 *
 * @throws ItemError if the item has no keys, or is not a scalar of a set
 */
export function elementOfItem(list: ListType, item: JsonValue): PathElement {
  return list.keys.length > 0 ? elementByKeys(list, item) : elementByValue(item);
}

function elementByKeys(list: ListType, item: JsonValue): PathElement {
  if (item === null) throw new ItemError("associative list with keys may not have a null element");
  if (!isJsonObject<JsonValue>(item) || item instanceof GoValue)
    throw new ItemError("associative list with keys may not have non-map elements");
  const keys: Record<string, JsonValue> = {};
  for (const name of list.keys) {
    const value = item[name] ?? list.items().map?.field(name)?.default;
    if (value !== undefined) keys[name] = value;
  }
  if (Object.keys(keys).length === 0) {
    const names = list.keys.map((name) => JSON.stringify(name)).join(" ");
    throw new ItemError(
      `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
    );
  }
  return keyElement(keys);
}

function elementByValue(item: JsonValue): PathElement {
  if (item === null) throw new ItemError("associative list without keys has an element that's an explicit null");
  if (Array.isArray(item)) throw new ItemError("not supported: associative list with lists as elements");
  if (typeof item === "object") throw new ItemError("associative list without keys has an element that's a map type");
  return valueElement(item);
}

/** Items of a list by their elements, in order; several items of one element are duplicates. @throws ItemError */
export function itemsByElement(list: ListType, items: readonly JsonValue[]): Map<PathElement, JsonValue[]> {
  const found = new Map<PathElement, JsonValue[]>();
  for (const [index, item] of items.entries()) {
    const element = atIndex(index, () => elementOfItem(list, item));
    const others = found.get(element);
    if (others === undefined) found.set(element, [item]);
    else others.push(item);
  }
  return found;
}

/** Adds the index of the item to an error. */
function atIndex<Result>(index: number, action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    throw error instanceof ItemError ? new ItemError(`element ${index}: ${error.message}`) : error;
  }
}
