/**
 * Whether a stored object has everything that is wanted. It may have more fields, such as defaults and what other programs add; a list must
 * have exactly the wanted elements. An empty list or map is the same as none, because the API server stores some of them as null.
 */
export function covers(stored: unknown, wanted: unknown): boolean {
  if (wanted === undefined || wanted === null) return true;
  if (Array.isArray(wanted)) {
    const list: readonly unknown[] = Array.isArray(stored) ? stored : [];
    return list.length === wanted.length && wanted.every((element, index) => covers(list[index], element));
  }
  if (typeof wanted !== "object") return stored === wanted;
  const fields: object = typeof stored === "object" && stored !== null ? stored : {};
  return Object.entries(wanted).every(([key, value]) => covers(Object.getOwnPropertyDescriptor(fields, key)?.value, value));
}
