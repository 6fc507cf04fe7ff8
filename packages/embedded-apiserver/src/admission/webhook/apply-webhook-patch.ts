import { ownValue } from "@virtual-kubelet/kubernetes";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import { GoError } from "../../outbound/go-error.ts";
import { applyJsonPatch } from "../../patch/json-patch.ts";

/**
 * Applies the JSON patch of a webhook.
 *
 * @returns the new object
 * @throws GoError with the words of the real server's library, gopkg.in/evanphx/json-patch.v4
 */
export function applyWebhookPatch(object: JsonObject, patch: readonly JsonValue[]): JsonObject {
  try {
    return asObject(applyJsonPatch(object, [...patch]));
  } catch {
    let current: JsonValue = object;
    for (const operation of patch) {
      const before: JsonValue = current;
      try {
        current = applyJsonPatch(current, [operation]);
      } catch {
        throw new GoError(problemOf(before, isJsonObject(operation) ? operation : {}));
      }
    }
    return asObject(current);
  }
}

function asObject(value: JsonValue): JsonObject {
  if (!isJsonObject(value)) throw new GoError(`json: cannot unmarshal ${Array.isArray(value) ? "array" : typeof value} into Go value`);
  return value;
}

function problemOf(document: JsonValue, operation: JsonObject): string {
  const path = String(operation["path"]);
  const from = String(operation["from"]);
  const hasParent = find(document, parentOf(path)) !== undefined;
  switch (operation["op"]) {
    case "add":
      return `add operation does not apply: doc is missing path: "${path}": missing value`;
    case "remove":
      return hasParent
        ? `error in remove for path: '${path}': Unable to remove nonexistent key: ${path.slice(path.lastIndexOf("/") + 1)}: missing value`
        : `remove operation does not apply: doc is missing path: "${path}": missing value`;
    case "replace":
      return `replace operation does not apply: doc is missing ${hasParent ? "key" : "path"}: ${path}: missing value`;
    case "test":
      return hasParent
        ? `testing value ${path} failed: test failed`
        : `test operation does not apply: is missing path: ${path}: missing value`;
    case "move":
    case "copy":
      return find(document, parentOf(from)) === undefined
        ? `${operation["op"]} operation does not apply: doc is missing from path: ${from}: missing value`
        : `${operation["op"]} operation does not apply: doc is missing destination path: ${path}: missing value`;
    default:
      return `Unexpected kind: ${String(operation["op"] ?? "unknown")}`;
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function find(document: JsonValue, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = document;
  for (const segment of path.split("/").slice(1)) {
    const key = segment.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) value = value[Number(key)];
    else value = isJsonObject(value) ? ownValue(value, key) : undefined;
  }
  return value;
}
