import { ownValue } from "@virtual-kubelet/kubernetes";
import { goText, goTypeOf } from "../json/go-json.ts";
import { isJsonObject, type JsonValue } from "../json/json-value.ts";

/** Why a field cannot be read, in the words of the real server. */
export interface NestedProblem {
  readonly problem: string;
}

/** Names of the fields of a path such as `.spec.replicas`. */
export function fieldsOfPath(path: string): string[] {
  return path.replace(/^\./, "").split(".");
}

/**
 * Integer at a path; `undefined` if it is not there.
 *
 * Source of this file: k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1/unstructured/helpers.go.
 */
export function nestedInteger(object: JsonValue, path: string): number | bigint | NestedProblem | undefined {
  const field = nestedField(object, path);
  if (field === undefined || "problem" in field) return field;
  const { value } = field;
  return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value))
    ? value
    : wrongType(fieldsOfPath(path), value, "int64");
}

/** Text at a path; `undefined` if it is not there. */
export function nestedString(object: JsonValue, path: string): string | NestedProblem | undefined {
  const field = nestedField(object, path);
  if (field === undefined || "problem" in field) return field;
  return typeof field.value === "string" ? field.value : wrongType(fieldsOfPath(path), field.value, "string");
}

function nestedField(object: JsonValue, path: string): { readonly value: JsonValue } | NestedProblem | undefined {
  const fields = fieldsOfPath(path);
  let value = object;
  for (const [index, field] of fields.entries()) {
    if (value === null) return undefined;
    if (!isJsonObject<JsonValue>(value)) return wrongType(fields.slice(0, index + 1), value, "map[string]interface{}");
    const next = ownValue(value, field);
    if (next === undefined) return undefined;
    value = next;
  }
  return { value };
}

function wrongType(fields: readonly string[], value: JsonValue, expected: string): NestedProblem {
  return { problem: `.${fields.join(".")} accessor error: ${goText(value)} is of the type ${goTypeOf(value)}, expected ${expected}` };
}
