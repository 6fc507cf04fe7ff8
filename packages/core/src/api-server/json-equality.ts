import { isJsonObject, ownValue } from "@virtual-kubelet/kubernetes";
import { toEpochMs } from "./api-time.ts";

/**
 * Whether two values are equal for the API server: absent, `null`, an empty list and an empty map are equal, and so
 * are two notations of one time.
 */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, index) => isSameJson(item, b[index]));
  if (isJsonObject(a) && isJsonObject(b)) {
    for (const key in a) if (!isSameJson(a[key], ownValue(b, key))) return false;
    for (const key in b) if (!Object.hasOwn(a, key) && !isEmptyJson(b[key])) return false;
    return true;
  }
  if (typeof a === "string" && typeof b === "string") return isTime(a) && isTime(b) && toEpochMs(a) === toEpochMs(b);
  return isEmptyJson(a) && isEmptyJson(b);
}

/** Whether a value is empty: absent, `null`, or a list or map with only empty values. */
export function isEmptyJson(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "object" && Object.values(value).every(isEmptyJson);
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text);
}
