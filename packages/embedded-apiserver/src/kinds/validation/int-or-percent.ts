import type { FieldError } from "../kind.ts";
import { invalidValue } from "./field-errors.ts";
import { each } from "./labels.ts";
import { percentProblems } from "./names.ts";
import { nonNegative } from "./numbers.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/apps/validation/validation.go. */

/** What is wrong with a number or a percentage. */
export function intOrPercentErrors(value: number | string, field: string): FieldError[] {
  return typeof value === "number" ? nonNegative(value, field) : each(field, value, percentProblems(value));
}

/** A percentage that is more than the whole. */
export function moreThanWholeErrors(value: number | string, field: string): FieldError[] {
  const percent = /^(\d+)%$/.exec(String(value))?.[1];
  return percent !== undefined && Number(percent) > 100 ? [invalidValue(field, value, "must not be greater than 100%")] : [];
}

/** The number, or that of the percents; 0 if it is neither. */
export function intOrPercentValue(value: number | string): number {
  return typeof value === "number" ? value : Number(/^(\d+)%$/.exec(value)?.[1] ?? 0);
}

/** A share of a total, rounded as the caller says; a text that is no percentage comes to nothing. */
export function scaledValue(value: number | string, total: number, round: (value: number) => number): number {
  if (typeof value === "number") return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  return percent === undefined ? 0 : round((Number(percent) * total) / 100);
}
