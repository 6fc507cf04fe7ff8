/** Compares by code units, like etcd and Go, which compare bytes. */
export function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Copy of a JSON value with the keys of all objects in order. */
export function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => byCodeUnits(a, b))
      .map(([key, member]) => [key, withSortedKeys(member)]),
  );
}
