import type { FieldError } from "../kind.ts";

/** Source of all wording: k8s.io/apimachinery v0.36.3 pkg/util/validation/field/errors.go. */

/** A value that is needed and missing. */
export function required(field: string, detail: string = ""): FieldError {
  return { field, reason: "FieldValueRequired", message: withDetail("Required value", detail) };
}

/** A value that is there and wrong. */
export function invalidValue(field: string, value: unknown, detail: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: withDetail(`Invalid value: ${shown(value)}`, detail) };
}

/** A value that is there and wrong, and too long to be shown. */
export function invalidPart(field: string, detail: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: withDetail("Invalid value", detail) };
}

/** A value that is none of those there are. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const list = supported.map((one) => JSON.stringify(one)).join(", ");
  return {
    field,
    reason: "FieldValueNotSupported",
    message: withDetail(`Unsupported value: ${shown(value)}`, list === "" ? "" : `supported values: ${list}`),
  };
}

/** A value that may not be here now. */
export function forbiddenField(field: string, detail: string): FieldError {
  return { field, reason: "FieldValueForbidden", message: withDetail("Forbidden", detail) };
}

/** A value that must be unique and is not. */
export function duplicate(field: string, value: unknown): FieldError {
  return { field, reason: "FieldValueDuplicate", message: `Duplicate value: ${shown(value)}` };
}

/** A name that names nothing. */
export function notFoundField(field: string, value: unknown, detail: string = ""): FieldError {
  return { field, reason: "FieldValueNotFound", message: withDetail(`Not found: ${shown(value)}`, detail) };
}

/** A text that is longer than it may be. */
export function tooLong(field: string, limitBytes: number): FieldError {
  return { field, reason: "FieldValueTooLong", message: `Too long: may not be more than ${limitBytes} bytes` };
}

/** A list that is longer than it may be. */
export function tooMany(field: string, count: number, limit: number): FieldError {
  return { field, reason: "FieldValueTooMany", message: `Too many: ${count}: must have at most ${limit} items` };
}

function withDetail(text: string, detail: string): string {
  return detail === "" ? text : `${text}: ${detail}`;
}

/** Go escapes these in JSON; for plain strings it does not. */
function shown(value: unknown): string {
  const json = JSON.stringify(value ?? null);
  return typeof value === "string" ? json : json.replaceAll("<", "\\u003c").replaceAll(">", "\\u003e").replaceAll("&", "\\u0026");
}

/** A map as Go shows it: by key. */
export function inOrder<Value>(map: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
