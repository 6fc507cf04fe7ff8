import { ownValue } from "@virtual-kubelet/kubernetes";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import { GoError } from "../../outbound/go-error.ts";
import { applyJsonPatch } from "../../patch/json-patch.ts";
import { typeMetaProblem } from "../../rest/type-mismatch.ts";

/** An operation `test` of a patch has failed. */
export class FailedTestError extends GoError {}

/**
 * Applies the JSON patch of a webhook or a policy.
 *
 * @returns the new object
 * @throws GoError with the words of the real server's library, gopkg.in/evanphx/json-patch.v4 v4.13.0
 */
export function applyWebhookPatch(object: JsonObject, patch: readonly JsonValue[]): JsonObject {
  let current: JsonValue = object;
  for (const operation of patch) {
    const before: JsonValue = current;
    const given = isJsonObject<JsonValue>(operation) ? operation : {};
    // Unlike "replace", other operations cannot have the whole document as their path.
    if (given["path"] === "" && given["op"] !== "replace" && given["op"] !== "test") throw problemOf(before, given);
    try {
      current = applyJsonPatch(current, [operation]);
    } catch {
      throw problemOf(before, given);
    }
  }
  return asObject(current);
}

function asObject(value: JsonValue): JsonObject {
  if (!isJsonObject<JsonValue>(value)) throw new GoError(typeMetaProblem(value) ?? "expected an object");
  return value;
}

function problemOf(document: JsonValue, operation: JsonObject): GoError {
  const path = String(operation["path"]);
  const parent = containerOf(document, path);
  const key = lastOf(path);
  switch (operation["op"]) {
    case "add":
      if (parent === undefined) return missing(`add operation does not apply: doc is missing path: "${path}"`);
      return new GoError(`error in add for path: '${path}': ${addProblem(key)}`);
    case "remove":
      if (parent === undefined) return missing(`remove operation does not apply: doc is missing path: "${path}"`);
      return new GoError(`error in remove for path: '${path}': ${accessProblem(parent, key)}`);
    case "replace":
      return missing(`replace operation does not apply: doc is missing ${parent === undefined ? "path" : "key"}: ${path}`);
    case "test":
      if (parent === undefined) return missing(`test operation does not apply: is missing path: ${path}`);
      if (Array.isArray(parent) && memberOf(parent, key) === undefined)
        return new GoError(`error in test for path: '${path}': ${accessProblem(parent, key)}`);
      return new FailedTestError(`testing value ${path} failed: test failed`);
    case "move":
    case "copy":
      return transferProblem(document, operation["op"], operation["from"], path);
    default:
      return new GoError(`Unexpected kind: ${String(operation["op"] ?? "unknown")}`);
  }
}

function transferProblem(document: JsonValue, op: "move" | "copy", source: JsonValue | undefined, path: string): GoError {
  if (typeof source !== "string") return missing(`${op} operation failed to decode from: operation, missing from field`);
  const from = containerOf(document, source);
  if (from === undefined) return missing(`${op} operation does not apply: doc is missing from path: ${source}`);
  const key = lastOf(source);
  const isReadable = Array.isArray(from) ? memberOf(from, key) !== undefined : op === "copy" || memberOf(from, key) !== undefined;
  if (!isReadable)
    return new GoError(
      `${op === "move" ? `error in move for path: '${key}'` : `error in copy for from: '${source}'`}: ${accessProblem(from, key)}`,
    );
  if (containerOf(document, path) === undefined) return missing(`${op} operation does not apply: doc is missing destination path: ${path}`);
  const where = op === "move" ? `error in move for path: '${path}'` : "error while adding value during copy";
  return new GoError(`${where}: ${addProblem(lastOf(path))}`);
}

function missing(problem: string): GoError {
  return new GoError(`${problem}: missing value`);
}

/** Problem of a list's element that cannot be added. */
function addProblem(key: string): string {
  return isIndex(key) ? wrongIndex(key) : `value was not a proper array index: '${key}': ${noNumber(key)}`;
}

function accessProblem(container: JsonObject | JsonValue[], key: string): string {
  if (!Array.isArray(container)) return `Unable to remove nonexistent key: ${key}: missing value`;
  return isIndex(key) ? wrongIndex(key) : noNumber(key);
}

function wrongIndex(key: string): string {
  return `Unable to access invalid index: ${Number(key)}: invalid index referenced`;
}

function noNumber(key: string): string {
  return `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`;
}

function isIndex(key: string): boolean {
  return /^[+-]?\d+$/.test(key);
}

function lastOf(path: string): string {
  return decoded(path.slice(path.lastIndexOf("/") + 1));
}

function decoded(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Object or list that the last segment of a path is looked up in. */
function containerOf(document: JsonValue, path: string): JsonObject | JsonValue[] | undefined {
  const segments = path.split("/");
  if (segments.length < 2) return undefined;
  let value: JsonValue | undefined = document;
  for (const segment of segments.slice(1, -1)) value = memberOf(value, decoded(segment));
  return Array.isArray(value) || isJsonObject<JsonValue>(value) ? value : undefined;
}

function memberOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  if (Array.isArray(value)) return isIndex(key) ? value.at(Number(key)) : undefined;
  return isJsonObject<JsonValue>(value) ? ownValue(value, key) : undefined;
}
