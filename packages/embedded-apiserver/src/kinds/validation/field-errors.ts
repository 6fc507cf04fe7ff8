import { jsonText } from "../../json/exact-json.ts";
import { goQuoted } from "../../json/go-quote.ts";
import type { FieldError } from "../kind.ts";

/** Source of the messages: k8s.io/apimachinery v0.36.3 pkg/util/validation/field/errors.go. */

/** A required value is missing. */
export function required(field: string, detail: string = ""): FieldError {
  return { field, reason: "FieldValueRequired", message: withDetail("Required value", detail) };
}

/** A value is invalid. */
export function invalidValue(field: string, value: unknown, detail: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: withDetail(`Invalid value: ${shown(value)}`, detail) };
}

/** A value is invalid and too long to be shown. */
export function invalidPart(field: string, detail: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: withDetail("Invalid value", detail) };
}

/** A value is not one of the supported values. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const list = supported.map((one) => JSON.stringify(one)).join(", ");
  return {
    field,
    reason: "FieldValueNotSupported",
    message: withDetail(`Unsupported value: ${shown(value)}`, list === "" ? "" : `supported values: ${list}`),
  };
}

/** A value is not allowed here. */
export function forbiddenField(field: string, detail: string): FieldError {
  return { field, reason: "FieldValueForbidden", message: withDetail("Forbidden", detail) };
}

/** The server could not check a value. */
export function uncheckable(field: string, problem: string): FieldError {
  return { field, reason: "InternalError", message: withDetail("Internal error", problem) };
}

/** A value must be unique. */
export function duplicate(field: string, value: unknown): FieldError {
  return { field, reason: "FieldValueDuplicate", message: `Duplicate value: ${shown(value)}` };
}

/** A name references nothing. */
export function notFoundField(field: string, value: unknown, detail: string = ""): FieldError {
  return { field, reason: "FieldValueNotFound", message: withDetail(`Not found: ${shown(value)}`, detail) };
}

/** A string is too long. */
export function tooLong(field: string, limitBytes: number): FieldError {
  const unit = limitBytes === 1 ? "byte" : "bytes";
  return { field, reason: "FieldValueTooLong", message: `Too long: may not be more than ${limitBytes} ${unit}` };
}

/** A list has too many items. */
export function tooMany(field: string, count: number, limit: number): FieldError {
  return {
    field,
    reason: "FieldValueTooMany",
    message: `Too many: ${count}: must have at most ${limit} ${limit === 1 ? "item" : "items"}`,
  };
}

function withDetail(text: string, detail: string): string {
  return detail === "" ? text : `${text}: ${detail}`;
}

/** Go escapes these characters in JSON, but not in plain strings. */
function shown(value: unknown): string {
  if (typeof value === "string") return goQuoted(value);
  return jsonText(value ?? null)
    .replaceAll("<", "\\u003c")
    .replaceAll(">", "\\u003e")
    .replaceAll("&", "\\u0026");
}

/** Sorts a map by key, as Go prints it. */
export function inOrder<Value>(map: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
