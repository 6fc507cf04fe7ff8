import { ownValue } from "@virtual-kubelet/kubernetes";
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/json-value.ts";

/** Applies a JSON merge patch (RFC 7386). Neither argument is modified; the result shares unchanged parts. */
export function applyMergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else setMember(result, key, applyMergePatch(ownValue(result, key), value));
  }
  return result;
}
