import type { FieldError } from "../kind.ts";
import { invalidValue } from "./field-errors.ts";

/** A number that may not be negative. */
export function nonNegative(value: number | undefined, field: string): FieldError[] {
  return value !== undefined && value < 0 ? [invalidValue(field, value, "must be greater than or equal to 0")] : [];
}

/** A number that may be neither negative nor zero. */
export function positive(value: number, field: string): FieldError[] {
  return value <= 0 ? [invalidValue(field, value, "must be greater than zero")] : [];
}
