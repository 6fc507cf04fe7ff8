import type { PolicySpec } from "../admission/policies/policy-fields.ts";
import {
  admissionActivation,
  compileAdmissionExpression,
  type AdmissionCompilation,
  type AdmissionInput,
  type AdmissionVariables,
} from "./admission-expressions.ts";
import type { Activation } from "./evaluate.ts";
import { dynType, mapParameters, type CelType } from "./types.ts";
import { CelMap, EvaluationError, type Value } from "./values.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/admission/plugin/cel/composition.go and activation.go. */

/** Budget of one policy and binding; source: k8s.io/apiserver v0.36.3 pkg/apis/cel/config.go. */
const policyBudget = 10_000_000;

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
    types.set(name, variableType(compilation.compiled?.outputType ?? dynType));
  }
  return { types, compiled };
}

/** Type that other expressions see of a variable: objects are dynamic. Source: composition.go, `convertCelTypeToDeclType`. */
export function variableType(type: CelType): CelType {
  switch (type.kind) {
    case "list":
    case "map":
      return mapParameters(type, variableType);
    case "object":
    case "opaque":
    case "param":
    case "type":
      return dynType;
    default:
      return type;
  }
}

/** Variables that an expression of a policy can use. */
export function declared(
  paramKind: PolicySpec["paramKind"],
  authorizer: boolean,
  composed: ReadonlyMap<string, CelType>,
): AdmissionVariables {
  return { params: paramKind !== undefined, authorizer, composed };
}

/** Evaluations of one policy for one request, which share a budget and the values of variables. */
export class PolicyRun {
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
