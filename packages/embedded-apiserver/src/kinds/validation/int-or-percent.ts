import type { FieldError } from "../kind.ts";
import { invalidValue } from "./field-errors.ts";
import { each } from "./labels.ts";
import { percentProblems } from "./names.ts";
import { nonNegative } from "./numbers.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/apps/validation/validation.go. */

export function intOrPercentErrors(value: number | string, field: string): FieldError[] {
  return typeof value === "number" ? nonNegative(value, field) : each(field, value, percentProblems(value));
}

/** Reports percentages above 100. */
export function moreThanWholeErrors(value: number | string, field: string): FieldError[] {
  const percent = /^(\d+)%$/.exec(String(value))?.[1];
  return percent !== undefined && Number(percent) > 100 ? [invalidValue(field, value, "must not be greater than 100%")] : [];
}

/** Number, or number of percent; 0 for any other text. */
export function intOrPercentValue(value: number | string): number {
  return typeof value === "number" ? value : Number(/^(\d+)%$/.exec(value)?.[1] ?? 0);
}

/** Part of a total, with the given rounding; 0 for text that is not a percentage. */
export function scaledValue(value: number | string, total: number, round: (value: number) => number): number {
  if (typeof value === "number") return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  return percent === undefined ? 0 : round((Number(percent) * total) / 100);
}
