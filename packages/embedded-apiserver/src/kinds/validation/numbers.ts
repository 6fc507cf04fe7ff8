import type { FieldError } from "../kind.ts";
import { invalidValue } from "./field-errors.ts";

export function nonNegative(value: number | undefined, field: string): FieldError[] {
  return value !== undefined && value < 0 ? [invalidValue(field, value, "must be greater than or equal to 0")] : [];
}

export function positive(value: number, field: string): FieldError[] {
  return value <= 0 ? [invalidValue(field, value, "must be greater than zero")] : [];
}
