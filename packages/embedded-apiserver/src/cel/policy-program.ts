import type { PolicySpec, Validation } from "../admission/policies/policy-fields.ts";
import {
  admissionActivation,
  compileAdmissionExpression,
  outOfBudget,
  type AdmissionCompilation,
  type AdmissionInput,
} from "./admission-expressions.ts";
import { compileMatchConditions } from "./match-conditions.ts";
import { compileVariables, declared, PolicyRun } from "./policy-run.ts";
import type { Value } from "./values.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/validating/validator.go. */

/** Why a policy refuses a request. */
interface PolicyDenial {
  readonly message: string;
  /** Reason of the response; default: `Invalid`. */
  readonly reason?: string;
}

/** A policy whose expressions are compiled. */
interface PolicyProgram {
  /** Evaluates the policy. @returns what it refuses, in the order of its validations */
  evaluate(input: AdmissionInput): readonly PolicyDenial[];
}

const maxMessageBytes = 5 * 1024;

/** Compiles a policy. Expressions that do not compile, which validation prevents, are errors of every evaluation. */
export function compilePolicy(spec: PolicySpec): PolicyProgram {
  const { paramKind, validations = [], auditAnnotations = [], matchConditions = [], failurePolicy = "Fail" } = spec;
  const { types, compiled: variables } = compileVariables(spec);
  const compile = (source: string, authorizer: boolean, results: readonly string[]): AdmissionCompilation =>
    compileAdmissionExpression(source, declared(paramKind, authorizer, types), results);
  const checks = validations.map((validation) => ({
    validation,
    expression: compile(validation.expression, true, ["bool"]),
    message: (validation.messageExpression ?? "") === "" ? undefined : compile(validation.messageExpression ?? "", false, ["string"]),
  }));
  const annotations = auditAnnotations.map(({ valueExpression }) => ({
    source: valueExpression,
    expression: compile(valueExpression.trim(), true, ["string", "null"]),
  }));
  const matches = compileMatchConditions(matchConditions, { params: paramKind !== undefined, authorizer: true });
  const failed = (message: string): readonly PolicyDenial[] => (failurePolicy === "Ignore" ? [] : [{ message }]);
  return {
    evaluate(input) {
      const { matches: isMatch, error: matchError } = matches(admissionActivation(input), failurePolicy);
      if (matchError !== undefined) return failed(matchError);
      if (!isMatch) return [];
      const run = new PolicyRun(input, variables);
      const results = checks.map(({ expression }) => run.evaluate(expression));
      if (run.isOutOfBudget) return failed(outOfBudget);
      const messages = checks.map(({ message }) => (message === undefined ? undefined : run.evaluate(message)));
      const messagesFailed = run.isOutOfBudget;
      const denials = results.flatMap(({ value, error }, index): readonly PolicyDenial[] => {
        if (error !== undefined) return failed(error);
        if (messagesFailed) return failed(`failed messageExpression: ${outOfBudget}`);
        const { validation } = checks[index] as (typeof checks)[number];
        return value === true ? [] : [denial(validation, messages[index]?.value)];
      });
      const annotationRun = new PolicyRun(input, variables);
      const problems = annotations.flatMap(({ expression }) => {
        const { error } = annotationRun.evaluate(expression);
        return error === undefined ? [] : failed(error);
      });
      return [...denials, ...problems];
    },
  };
}

function denial({ reason, message = "", expression }: Validation, computed: Value | undefined): PolicyDenial {
  const text = typeof computed === "string" ? computed.trim() : "";
  const usable = Buffer.byteLength(text) <= maxMessageBytes && !text.includes("\n") ? text : "";
  const shown = usable || message.trim() || `failed expression: ${expression.trim()}`;
  return { message: shown, ...(reason === undefined ? {} : { reason }) };
}
