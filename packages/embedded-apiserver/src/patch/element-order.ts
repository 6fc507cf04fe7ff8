import { isJsonObject, type JsonValue } from "../json/json-value.ts";

/** What decides the order of a merged list. */
export interface ElementOrder {
  /** The order the patch wants; it has precedence. */
  readonly order: readonly JsonValue[];
  /** The list as it was before, whose order decides where the items stand that the patch does not speak of. */
  readonly previous: readonly JsonValue[];
  /** The field that tells items apart; absent for lists of scalars. */
  readonly mergeKey: string | undefined;
}

/**
 * Orders a merged list: items the patch speaks of in the patch's order, all others between them as they stood.
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
