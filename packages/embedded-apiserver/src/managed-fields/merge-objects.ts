import { ownValue } from "@virtual-kubelet/kubernetes";
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/json-value.ts";
import { elementOfItem, itemsByElement } from "./list-items.ts";
import { type ListType, type MapType, type MergeType, typeOfField, typeOfValue } from "./merge-type.ts";
import type { PathElement } from "./path-element.ts";

/**
 * Merges an applied configuration into a live object. Neither argument is modified; the result shares unchanged parts.
 *
 * Source: sigs.k8s.io/structured-merge-diff/v6 v6.3.3 typed/merge.go.
 *
 * @throws ItemError if an item of a list cannot be identified
 */
export function mergeObjects(type: MergeType, live: JsonValue, applied: JsonValue): JsonValue {
  return mergeValues(type, live, applied) ?? null;
}

type Value = JsonValue | undefined;

function mergeValues(type: MergeType, live: Value, applied: Value): Value {
  if (applied === undefined) return mergeTyped(typeOfValue(type, live), live, applied);
  return mergeTyped(typeOfValue(type, applied), live, applied);
}

function mergeTyped({ map, scalar, list }: MergeType, live: Value, applied: Value): Value {
  if (map !== undefined) return mergeMaps(map, live, applied);
  if (scalar === undefined && list !== undefined) return mergeLists(list, live, applied);
  return whole(live, applied);
}

function whole(live: Value, applied: Value): Value {
  return applied === undefined ? live : applied;
}

function mergeMaps(type: MapType, live: Value, applied: Value): Value {
  if (applied === undefined) return live;
  const left = isJsonObject<JsonValue>(live) ? live : {};
  const right = isJsonObject<JsonValue>(applied) ? applied : {};
  if (type.isAtomic || (Object.keys(left).length === 0 && Object.keys(right).length === 0)) return whole(live, applied);
  const result: JsonObject = {};
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const fieldType = typeOfField(type, name);
    const [before, after] = [ownValue(left, name), ownValue(right, name)];
    const value = fieldType === undefined ? whole(before, after) : mergeValues(fieldType, before, after);
    if (value !== undefined) setMember(result, name, value);
  }
  return Object.keys(result).length === 0 ? undefined : result;
}

function mergeLists(type: ListType, live: Value, applied: Value): Value {
  if (applied === undefined) return live;
  const left = Array.isArray(live) ? live : [];
  const right = Array.isArray(applied) ? applied : [];
  if (type.isAtomic || (left.length === 0 && right.length === 0)) return whole(live, applied);
  const result = mergeItems(type, left, right);
  return result.length === 0 ? undefined : result;
}

/** The items in an order that keeps that of the applied items, and otherwise that of the live ones. */
function mergeItems(type: ListType, live: readonly JsonValue[], applied: readonly JsonValue[]): JsonValue[] {
  const [liveItems, appliedItems] = [itemsByElement(type, live), itemsByElement(type, applied)];
  const left = live.map((item) => elementOfItem(type, item));
  const right = [...appliedItems.keys()];
  const shared = right.filter((element) => liveItems.has(element));
  const merged = new Set<PathElement>();
  const result: JsonValue[] = [];
  const take = (element: PathElement, item: Value): void => {
    const value = mergeValues(type.items(), item, appliedItems.get(element)?.[0]);
    if (value !== undefined) result.push(value);
  };
  const takeApplied = (element: PathElement): void => {
    merged.add(element);
    const known = liveItems.get(element) ?? [];
    // Duplicates of the live list are replaced rather than merged.
    take(element, known.length === 1 ? known[0] : undefined);
  };
  let [l, r, next] = [0, 0, 0];
  while (l < left.length || r < right.length) {
    const [liveElement, appliedElement] = [left[l], right[r]];
    if (liveElement !== undefined && appliedElement !== undefined) {
      if (liveElement === appliedElement) {
        takeApplied(appliedElement);
        l++;
        r++;
        next++;
        continue;
      }
      // A shared item whose turn has not come.
      if (appliedItems.has(liveElement) && shared[next] !== undefined && shared[next] !== liveElement) {
        l++;
        continue;
      }
    }
    if (liveElement !== undefined) {
      if (!appliedItems.has(liveElement)) {
        take(liveElement, live[l]);
        l++;
        continue;
      }
      if (merged.has(liveElement)) l++;
    }
    if (appliedElement !== undefined) {
      takeApplied(appliedElement);
      r++;
      if (shared[next] === appliedElement) next++;
    }
  }
  return result;
}
