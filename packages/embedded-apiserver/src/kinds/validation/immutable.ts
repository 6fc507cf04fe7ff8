import { equalJson } from "../../json/json-value.ts";
import type { FieldError } from "../kind.ts";
import { invalidValue } from "./field-errors.ts";

/** A value must not change. Source: k8s.io/apimachinery v0.36.3 pkg/api/validation/objectmeta.go, ValidateImmutableField. */
export function immutableErrors(value: unknown, old: unknown, field: string): FieldError[] {
  return equalJson(value, old) ? [] : [invalidValue(field, value, "field is immutable")];
}
