import type { PolicySpec, Validation } from "../admission/policies/policy-fields.ts";
import {
  admissionActivation,
  compileAdmissionExpression,
  outOfBudget,
  type AdmissionCompilation,
  type AdmissionInput,
  type AdmissionVariables,
} from "./admission-expressions.ts";
import type { Activation } from "./evaluate.ts";
import { compileMatchConditions } from "./match-conditions.ts";
import type { CelType } from "./types.ts";
import { CelMap, EvaluationError, type Value } from "./values.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/validating/validator.go and plugin/cel/composition.go. */

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

/** Budget of one policy and binding; source: k8s.io/apiserver v0.36.3 pkg/apis/cel/config.go. */
const policyBudget = 10_000_000;
const maxMessageBytes = 5 * 1024;

/** Variables of a policy with their compilations. Later variables see earlier ones. */
export function compileVariables({ variables = [], paramKind }: Pick<PolicySpec, "variables" | "paramKind">): {
  readonly types: ReadonlyMap<string, CelType>;
  readonly compiled: ReadonlyMap<string, AdmissionCompilation>;
} {
  const types = new Map<string, CelType>();
  const compiled = new Map<string, AdmissionCompilation>();
  for (const { name, expression } of variables) {
    const compilation = compileAdmissionExpression(expression, declared(paramKind, true, new Map(types)), ["any"]);
    compiled.set(name, compilation);
    types.set(name, compilation.compiled?.outputType ?? { kind: "dyn" });
  }
  return { types, compiled };
}

/** Variables that an expression of a policy can use. */
export function declared(
  paramKind: PolicySpec["paramKind"],
  authorizer: boolean,
  composed: ReadonlyMap<string, CelType>,
): AdmissionVariables {
  return { params: paramKind !== undefined, authorizer, composed };
}

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

/** Evaluations of one policy for one request, which share a budget and the values of variables. */
class PolicyRun {
  readonly #activation: Activation;
  #remaining = policyBudget;

  constructor(input: AdmissionInput, compiled: ReadonlyMap<string, AdmissionCompilation>) {
    const variables = new LazyVariables(compiled, (expression) => this.#compute(expression));
    this.#activation = admissionActivation({ ...input, variables });
  }

  get isOutOfBudget(): boolean {
    return this.#remaining < 0;
  }

  evaluate({ compiled, problem }: AdmissionCompilation): { readonly value?: Value; readonly error?: string } {
    if (compiled === undefined) return { error: `compilation error: ${problem}` };
    if (this.isOutOfBudget) return {};
    const { value, error, cost } = compiled.evaluate(this.#activation);
    this.#remaining -= cost;
    if (this.isOutOfBudget) return {};
    if (error !== undefined) return { error: `expression '${compiled.source}' resulted in error: ${error}` };
    return value === undefined ? {} : { value };
  }

  #compute({ compiled, problem }: AdmissionCompilation): { readonly value?: Value; readonly problem?: string } {
    if (compiled === undefined) return { problem: `fails to compile: ${problem}` };
    const { value, error, cost } = compiled.evaluate(this.#activation);
    this.#remaining -= cost;
    if (error !== undefined) return { problem: `fails to evaluate: ${error}` };
    return value === undefined ? {} : { value };
  }
}

/** The variable `variables`: each member is evaluated when it is first read. */
class LazyVariables extends CelMap {
  override readonly typeName = "kubernetes.variables";
  readonly #compiled: ReadonlyMap<string, AdmissionCompilation>;
  readonly #compute: (expression: AdmissionCompilation) => { readonly value?: Value; readonly problem?: string };
  readonly #values = new Map<string, Value | EvaluationError>();

  constructor(
    compiled: ReadonlyMap<string, AdmissionCompilation>,
    compute: (expression: AdmissionCompilation) => { readonly value?: Value; readonly problem?: string },
  ) {
    super();
    this.#compiled = compiled;
    this.#compute = compute;
  }

  get size(): number {
    return this.#compiled.size;
  }

  get(key: Value): Value | undefined {
    const compilation = typeof key === "string" ? this.#compiled.get(key) : undefined;
    if (compilation === undefined || typeof key !== "string") return undefined;
    const known = this.#values.get(key) ?? this.#evaluate(key, compilation);
    if (known instanceof EvaluationError) throw known;
    return known;
  }

  *keys(): Iterable<Value> {
    yield* this.#compiled.keys();
  }

  #evaluate(name: string, compilation: AdmissionCompilation): Value | EvaluationError {
    const { value, problem } = this.#compute(compilation);
    const result = problem === undefined ? (value ?? null) : new EvaluationError(`composited variable ${JSON.stringify(name)} ${problem}`);
    this.#values.set(name, result);
    return result;
  }
}
