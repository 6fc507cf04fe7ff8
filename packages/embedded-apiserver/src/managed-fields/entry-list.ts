import { goJsonType } from "../json/go-json.ts";
import { isJsonObject, type JsonValue } from "../json/json-value.ts";
import { canonicalTime } from "../kinds/schema/time.ts";

const fieldNames: ReadonlySet<string> = new Set(["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"]);

/**
 * Whether a value of `metadata.managedFields` has the types of a list of managers; what they say may be wrong. Unknown fields are allowed.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1/types.go, `ManagedFieldsEntry`.
 */
export function isEntryList(value: JsonValue): value is JsonValue[] {
  return Array.isArray(value) && value.every(isEntry);
}

/**
 * Whether Go's converter reads a value of `metadata.managedFields` of a configuration: the types are those of managers, and times are times.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1/unstructured/unstructured.go, `GetManagedFields`.
 */
export function isReadableEntryList(value: JsonValue): boolean {
  return Array.isArray(value) && value.every((entry) => isJsonObject<JsonValue>(entry) && Object.entries(entry).every(isReadable));
}

function isReadable([name, value]: readonly [string, JsonValue]): boolean {
  if (value === null || !fieldNames.has(name) || name === "fieldsV1") return true;
  return typeof value === "string" && (name !== "time" || "text" in canonicalTime(value));
}

/** Problem with the first time of managers that Go's converter cannot read; `undefined` if there is none. */
export function entryTimeProblem(value: JsonValue): string | undefined {
  for (const entry of Array.isArray(value) ? value : []) {
    const time = isJsonObject<JsonValue>(entry) ? (entry["time"] ?? null) : null;
    if (time === null) continue;
    if (typeof time !== "string") return `json: cannot unmarshal ${goJsonType(time)} into Go value of type string`;
    const read = canonicalTime(time);
    if ("problem" in read) return read.problem;
  }
  return undefined;
}

/** Whether an item of a list has fields that a manager does not have. */
export function hasUnknownFields(entries: readonly JsonValue[]): boolean {
  return entries.some((entry) => Object.keys(entry as object).some((name) => !fieldNames.has(name)));
}

function isEntry(value: JsonValue): boolean {
  return isJsonObject<JsonValue>(value) && Object.entries(value).every(([name, member]) => hasType(name, member));
}

function hasType(name: string, value: JsonValue): boolean {
  if (value === null || !fieldNames.has(name)) return true;
  if (name === "fieldsV1") return isJsonObject(value);
  if (typeof value !== "string") return false;
  return name !== "time" || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value);
}
