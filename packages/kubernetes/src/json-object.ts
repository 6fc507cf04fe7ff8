/**
 * Whether a JSON value is an object, and neither `null` nor a list.
 *
 * @typeParam T - type of the object's values, which is not checked
 */
export function isJsonObject<T = unknown>(value: unknown): value is Record<string, T> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
