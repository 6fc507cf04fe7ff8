import type { PolicySpec } from "../admission/policies/policy-fields.ts";
import type { FieldError } from "../kinds/kind.ts";
import { invalidValue } from "../kinds/validation/field-errors.ts";
import { compileAdmissionExpression } from "./admission-expressions.ts";
import { compileVariables, declared } from "./policy-program.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/admissionregistration/validation/validation.go. */

/** Why the expression of a match condition does not compile; `undefined` if it does. */
export function matchConditionProblem(expression: string, hasParams: boolean): string | undefined {
  return compileAdmissionExpression(expression, { params: hasParams, authorizer: true }, ["bool"]).problem;
}

/** Expressions of a ValidatingAdmissionPolicy that do not compile. */
export function policyExpressionErrors(spec: PolicySpec): FieldError[] {
  const { paramKind, matchConditions = [], variables = [], validations = [], auditAnnotations = [] } = spec;
  const { types, compiled } = compileVariables(spec);
  const check = (source: string, field: string, authorizer: boolean, results: readonly string[]): FieldError[] => {
    if (source.trim() === "") return [];
    const { problem } = compileAdmissionExpression(source, declared(paramKind, authorizer, types), results);
    return problem === undefined ? [] : [invalidValue(field, source, problem)];
  };
  return [
    ...matchConditions.flatMap(({ expression }, index) => {
      const problem = expression.trim() === "" ? undefined : matchConditionProblem(expression, paramKind !== undefined);
      return problem === undefined ? [] : [invalidValue(`spec.matchConditions[${index}].expression`, expression, problem)];
    }),
    ...variables.flatMap(({ name, expression }, index) => {
      const problem = expression.trim() === "" ? undefined : compiled.get(name)?.problem;
      return problem === undefined ? [] : [invalidValue(`spec.variables[${index}].expression`, expression, problem)];
    }),
    ...validations.flatMap(({ expression, messageExpression = "" }, index) => [
      ...check(expression, `spec.validations[${index}].expression`, true, ["bool"]),
      ...check(messageExpression, `spec.validations[${index}].messageExpression`, false, ["string"]),
    ]),
    ...auditAnnotations.flatMap(({ valueExpression }, index) =>
      check(valueExpression, `spec.auditAnnotations[${index}].valueExpression`, true, ["string", "null"]),
    ),
  ];
}
