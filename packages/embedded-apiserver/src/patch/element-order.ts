import { isJsonObject, type JsonValue } from "../json/json-value.ts";

/** Input for the order of a merged list. */
export interface ElementOrder {
  /** Order given by the patch, which takes precedence. */
  readonly order: readonly JsonValue[];
  /** Previous list, which determines the position of items that the patch does not mention. */
  readonly previous: readonly JsonValue[];
  /** Field that identifies items; `undefined` for lists of scalars. */
  readonly mergeKey: string | undefined;
}

/**
 * Orders a merged list: items in the patch are in the patch's order; other items keep their position between them.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/strategicpatch/patch.go, `normalizeElementOrder`, `mergeSortedSlice`.
 */
export function orderElements(merged: readonly JsonValue[], { order, previous, mergeKey }: ElementOrder): JsonValue[] {
  const key = (item: JsonValue): JsonValue | undefined => (mergeKey !== undefined && isJsonObject(item) ? item[mergeKey] : item);
  const wanted = ranks(order, key);
  const before = ranks(previous, key);
  const rank = (table: ReadonlyMap<unknown, number>, item: JsonValue): number => table.get(key(item)) ?? Number.MAX_SAFE_INTEGER;
  const mentioned = merged.filter((item) => wanted.has(key(item))).toSorted((a, b) => rank(wanted, a) - rank(wanted, b));
  const others = merged.filter((item) => !wanted.has(key(item))).toSorted((a, b) => rank(before, a) - rank(before, b));
  const result: JsonValue[] = [];
  let next = 0;
  for (const item of mentioned) {
    for (let other = others[next]; other !== undefined && precedes(other, item); other = others[++next]) result.push(other);
    result.push(item);
  }
  return [...result, ...others.slice(next)];

  function precedes(other: JsonValue, item: JsonValue): boolean {
    const left = before.get(key(other));
    const right = before.get(key(item));
    return left !== undefined && right !== undefined && left < right;
  }
}

function ranks(items: readonly JsonValue[], key: (item: JsonValue) => unknown): ReadonlyMap<unknown, number> {
  const table = new Map<unknown, number>();
  items.forEach((item, index) => {
    if (!table.has(key(item))) table.set(key(item), index);
  });
  return table;
}
