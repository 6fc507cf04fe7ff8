import { compileAdmissionExpression, evaluateAdmission, type AdmissionVariables } from "./admission-expressions.ts";
import type { Activation } from "./evaluate.ts";

/** A condition of a webhook or policy. */
export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** Whether conditions match. */
export interface MatchResult {
  readonly matches: boolean;
  /** Condition that is false. */
  readonly failedCondition?: string;
  /** Set if conditions could not be evaluated and the failure policy is `Fail`: the request is to be refused. */
  readonly error?: string;
}

/** Budget of all conditions of one webhook or policy; source: k8s.io/apiserver v0.36.3 pkg/apis/cel/config.go. */
const matchConditionsBudget = 2_500_000;

/**
 * Compiles match conditions. One that does not compile, which validation prevents, is an error of every evaluation.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/matchconditions/matcher.go.
 */
export function compileMatchConditions(
  conditions: readonly MatchCondition[],
  variables: AdmissionVariables = { authorizer: true },
): (activation: Activation, failurePolicy?: string) => MatchResult {
  const compiled = conditions.map(({ name, expression }) => ({ name, ...compileAdmissionExpression(expression, variables, ["bool"]) }));
  return (activation, failurePolicy = "Fail") => {
    const errors: string[] = [];
    let budget = matchConditionsBudget;
    let failed: string | undefined;
    for (const { name, compiled: expression, problem } of compiled) {
      if (expression === undefined) {
        errors.push(`compilation error: ${problem}`);
        continue;
      }
      const { value, error, remaining } = evaluateAdmission(expression, activation, budget);
      if (remaining < 0) return failure([error ?? ""], failurePolicy);
      budget = remaining;
      if (error !== undefined) errors.push(error);
      if (value === false) failed ??= name;
    }
    if (failed !== undefined) return { matches: false, failedCondition: failed };
    return errors.length > 0 ? failure(errors, failurePolicy) : { matches: true };
  };
}

function failure(errors: readonly string[], failurePolicy: string): MatchResult {
  if (failurePolicy === "Ignore") return { matches: false };
  const distinct = [...new Set(errors)];
  return { matches: false, error: distinct.length === 1 ? String(distinct[0]) : `[${distinct.join(", ")}]` };
}
