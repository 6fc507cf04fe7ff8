import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { FieldError } from "../kind.ts";
import { labelKeyProblems, labelValueProblems } from "./label-syntax.ts";
import { forbiddenField, invalidValue, required } from "./field-errors.ts";

/** Source of this file: k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1/validation/validation.go. */

/** Converts problems with one value into errors of a field. */
export function each(field: string, value: unknown, problems: readonly string[]): FieldError[] {
  return problems.map((problem) => invalidValue(field, value, problem));
}

export function labelNameErrors(name: string, field: string): FieldError[] {
  return each(field, name, labelKeyProblems(name));
}

export function labelsErrors(labels: Readonly<Record<string, string>> | undefined, field: string): FieldError[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => [
    ...labelNameErrors(key, field),
    ...each(field, value, labelValueProblems(value)),
  ]);
}

export function labelSelectorErrors(selector: LabelSelector | null | undefined, field: string): FieldError[] {
  return [
    ...labelsErrors(selector?.matchLabels, `${field}.matchLabels`),
    ...(selector?.matchExpressions ?? []).flatMap(({ key, operator, values = [] }, index) => {
      const path = `${field}.matchExpressions[${index}]`;
      return [
        ...operatorErrors(operator, values, path),
        ...labelNameErrors(key, `${path}.key`),
        ...values.flatMap((value, at) => each(`${path}.values[${at}]`, value, labelValueProblems(value))),
      ];
    }),
  ];
}

function operatorErrors(operator: string, values: readonly string[], path: string): FieldError[] {
  switch (operator) {
    case "In":
    case "NotIn":
      return values.length === 0 ? [required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")] : [];
    case "Exists":
    case "DoesNotExist":
      return values.length > 0
        ? [forbiddenField(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
        : [];
    default:
      return [invalidValue(`${path}.operator`, operator, "not a valid selector operator")];
  }
}
