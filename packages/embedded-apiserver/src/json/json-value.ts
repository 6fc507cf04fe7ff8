import { isJsonObject, ownValue } from "@virtual-kubelet/kubernetes";

/** Any JSON value. An integer of at most 64 bits that a number would alter is a bigint; others are numbers. */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  [key: string]: JsonValue;
}

export { isJsonObject };

/** Sets a member of an object. Unlike an assignment it also works for `__proto__`, which may be a key of a config map. */
export function setMember<T>(object: Record<string, T>, key: string, value: T): void {
  if (key === "__proto__") Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

/** Deep copy of a JSON value. Keys whose value is `undefined` are dropped. */
export function cloneJson<T>(value: T): T;
export function cloneJson(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(cloneJson);
  const copy: Record<string, unknown> = {};
  for (const key in value) {
    const member: unknown = (value as Record<string, unknown>)[key];
    if (member !== undefined) setMember(copy, key, cloneJson(member));
  }
  return copy;
}

/** JSON with sorted keys: the same text for equal values. */
export function sortedText(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(",")}]`;
  if (!isJsonObject<JsonValue>(value)) return typeof value === "bigint" ? String(value) : JSON.stringify(value);
  const members = Object.keys(value).toSorted();
  return `{${members.map((key) => `${JSON.stringify(key)}:${sortedText(value[key] ?? null)}`).join(",")}}`;
}

/** Whether two JSON values are equal. The order of keys does not matter; `undefined` counts as absent. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalJson(item, b[index]));
  if (Array.isArray(b)) return false;
  return equalMembers(a as Record<string, unknown>, b as Record<string, unknown>);
}

function equalMembers(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  for (const key in a) if (a[key] !== undefined && !equalJson(a[key], ownValue(b, key))) return false;
  for (const key in b) if (b[key] !== undefined && ownValue(a, key) === undefined) return false;
  return true;
}
