import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";

/** Applies a JSON merge patch (RFC 7386). Neither argument is modified; the result shares unchanged parts. */
export function applyMergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value);
  }
  return result;
}
