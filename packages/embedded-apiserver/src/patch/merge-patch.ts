import { ownValue } from "@virtual-kubelet/kubernetes";
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/json-value.ts";

/**
 * Applies a JSON merge patch (RFC 7386, and gopkg.in/evanphx/json-patch.v4 merge.go). Neither argument is modified; the result shares unchanged parts.
 */
export function applyMergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  // As in the real server's library, a list that replaces an object keeps null in its items.
  if (!isJsonObject(patch)) return isJsonObject(target) ? patch : withoutNulls(patch);
  const result: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else setMember(result, key, applyMergePatch(ownValue(result, key), value));
  }
  return result;
}

/** The value without members that are null, also in the items of lists; items that are null stay. */
function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject<JsonValue>(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([key, member]) => [key, withoutNulls(member)]));
}
