import type { PolicySpec } from "../admission/policies/policy-fields.ts";
import type { FieldError } from "../kinds/kind.ts";
import { invalidValue, uncheckable } from "../kinds/validation/field-errors.ts";
import { compileAdmissionExpression } from "./admission-expressions.ts";
import { compileMutation, patchOf } from "./mutation-program.ts";
import { compileVariables, declared } from "./policy-run.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/admissionregistration/validation/validation.go. */

/** Error of an expression that does not compile. Source: `convertCELErrorToValidationError`. */
function expressionError(field: string, source: string, problem: string): FieldError {
  return problem.startsWith("program instantiation failed") ? uncheckable(field, problem) : invalidValue(field, source, problem);
}

/** Error of a match condition that does not compile. @param field - such as `spec.matchConditions[0].expression` */
export function matchExpressionErrors(expression: string, field: string, hasParams: boolean): FieldError[] {
  const { problem } = compileAdmissionExpression(expression, { params: hasParams, authorizer: true }, ["bool"]);
  return problem === undefined ? [] : [expressionError(field, expression, problem)];
}

/** Expressions of an admission policy that do not compile. */
export function policyExpressionErrors(spec: PolicySpec): FieldError[] {
  const { paramKind, matchConditions = [], variables = [], validations = [], auditAnnotations = [], mutations = [] } = spec;
  const { types, compiled } = compileVariables(spec);
  const check = (source: string, field: string, authorizer: boolean, results: readonly string[]): FieldError[] => {
    if (source.trim() === "") return [];
    const { problem } = compileAdmissionExpression(source, declared(paramKind, authorizer, types), results);
    return problem === undefined ? [] : [expressionError(field, source, problem)];
  };
  return [
    ...matchConditions.flatMap(({ expression: source }, index) => {
      const expression = source.trim();
      return expression === ""
        ? []
        : matchExpressionErrors(expression, `spec.matchConditions[${index}].expression`, paramKind !== undefined);
    }),
    ...variables.flatMap(({ name, expression }, index) => {
      const problem = expression.trim() === "" ? undefined : compiled.get(name)?.problem;
      return problem === undefined ? [] : [expressionError(`spec.variables[${index}].expression`, expression, problem)];
    }),
    ...validations.flatMap(({ expression, messageExpression = "" }, index) => [
      ...check(expression, `spec.validations[${index}].expression`, true, ["bool"]),
      ...check(messageExpression, `spec.validations[${index}].messageExpression`, false, ["string"]),
    ]),
    ...auditAnnotations.flatMap(({ valueExpression }, index) =>
      check(valueExpression, `spec.auditAnnotations[${index}].valueExpression`, true, ["string", "null"]),
    ),
    ...mutations.flatMap((mutation, index) => {
      const { expression, field } = patchOf(mutation);
      const source = expression.trim();
      const problem = source === "" ? undefined : compileMutation(mutation, source, paramKind, types).problem;
      return problem === undefined ? [] : [expressionError(`spec.mutations[${index}].${field}.expression`, source, problem)];
    }),
  ];
}
