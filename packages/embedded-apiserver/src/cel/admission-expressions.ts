import type { UserInfo } from "../authentication/user-info.ts";
import { admissionTypes, isPatchType, patchFieldType } from "./admission-types.ts";
import { analyzeExpression, compileExpression, type CompiledExpression, type Evaluation } from "./compile.ts";
import type { Environment } from "./environment.ts";
import type { Activation } from "./evaluate.ts";
import { AuthorizerValue, ResourceCheck, type Authorize, type CheckedResource } from "./functions/authorizer.ts";
import { baseFunctions, mutationFunctions } from "./functions/index.ts";
import { jsonValue } from "./json-values.ts";
import { formatType, type CelType } from "./types.ts";
import type { Value } from "./values.ts";

/** Variables that only some expressions have. */
export interface AdmissionVariables {
  readonly params?: boolean;
  readonly authorizer?: boolean;
  /** Whether there is `authorizer.requestResource`; default: as `authorizer`. */
  readonly requestResource?: boolean;
  /** Whether the expression can create patches: `Object{...}`, `JSONPatch{...}` and `jsonpatch.escapeKey`. Default: false. */
  readonly patchTypes?: boolean;
  /** Types of the members of `variables`, by name. */
  readonly composed?: ReadonlyMap<string, CelType>;
  /** Types of `object`, `oldObject` and `params`; default: `dyn`. */
  readonly objectType?: CelType;
  readonly paramsType?: CelType;
  /** Fields of the types that `objectType` and `paramsType` refer to. */
  readonly fieldType?: Environment["fieldType"];
}

const variablesType = "kubernetes.variables";

/** Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/cel/compile.go and composition.go. */
function admissionEnvironment(given: AdmissionVariables): Environment {
  const { params, authorizer, requestResource = authorizer, patchTypes = false, composed, objectType, paramsType, fieldType } = given;
  const dyn: CelType = { kind: "dyn" };
  const variables = new Map<string, CelType>([
    ["object", objectType ?? dyn],
    ["oldObject", objectType ?? dyn],
    ["namespaceObject", { kind: "object", name: "kubernetes.Namespace" }],
    ["request", { kind: "object", name: "kubernetes.AdmissionRequest" }],
  ]);
  if (params === true) variables.set("params", paramsType ?? dyn);
  if (authorizer === true) variables.set("authorizer", { kind: "object", name: "kubernetes.authorization.Authorizer" });
  if (requestResource === true)
    variables.set("authorizer.requestResource", { kind: "object", name: "kubernetes.authorization.ResourceCheck" });
  if (composed !== undefined) variables.set("variables", { kind: "object", name: variablesType });
  return {
    variables,
    functions: patchTypes ? mutationFunctions : baseFunctions,
    fieldType: (type, field) => {
      if (type === variablesType) return composed?.get(field);
      const patchField = patchTypes ? patchFieldType(type, field) : undefined;
      return patchField ?? admissionTypes[type]?.[field] ?? fieldType?.(type, field);
    },
    ...(patchTypes ? { hasType: isPatchType } : {}),
  };
}

/** Result of {@link compileAdmissionExpression}. */
export type AdmissionCompilation =
  | { readonly compiled: CompiledExpression; readonly problem?: never }
  | { readonly compiled?: never; readonly problem: string };

/**
 * Compiles an expression of a webhook or an admission policy.
 *
 * @param types - permitted types of the result, such as `bool`; `any` permits every type
 * @returns the expression, or the problem with it in the API server's words
 */
export function compileAdmissionExpression(source: string, variables: AdmissionVariables, types: readonly string[]): AdmissionCompilation {
  const compilation = compileExpression(admissionEnvironment(variables), source);
  const { outputType } = compilation;
  if (outputType === undefined) return { problem: String(compilation.problem) };
  const actual = formatType(outputType);
  if (types.includes(actual) || types.includes("any")) return compilation;
  const named = types.map(shownType);
  const wanted = named.length === 1 ? String(named[0]) : `one of [${named.join(" ")}]`;
  return { problem: `must evaluate to ${wanted} but got ${shownType(actual)}` };
}

/** Type of the result of an expression, or the issues with it, such as `ERROR: <input>:1:7: undefined field 'a' …`. Makes no program. */
export function checkAdmissionExpression(
  source: string,
  variables: AdmissionVariables,
): { readonly outputType: CelType; readonly issues?: never } | { readonly issues: string; readonly outputType?: never } {
  const analysis = analyzeExpression(admissionEnvironment(variables), source);
  return analysis.issues === undefined ? { outputType: analysis.outputType } : { issues: analysis.issues };
}

/** Names of types in cel-go's `Type.String`, where they differ from those in its messages. */
const shownTypes: Readonly<Record<string, string>> = {
  null: "null_type",
  timestamp: "google.protobuf.Timestamp",
  duration: "google.protobuf.Duration",
};

function shownType(name: string): string {
  return shownTypes[name] ?? name;
}

/** Values of an admission's variables. */
export interface AdmissionInput {
  /** `undefined` for DELETE. */
  readonly object: unknown;
  /** `undefined` for CREATE and CONNECT. */
  readonly oldObject: unknown;
  /** The `AdmissionRequest` as in a webhook's review, without its objects. */
  readonly request: unknown;
  /** `undefined` for cluster-scoped objects. */
  readonly namespaceObject?: unknown;
  readonly params?: unknown;
  readonly authorizer?: AdmissionAuthorizer;
  /** Value of a member of `variables`; called when it is read. */
  readonly variables?: Value;
}

/** Values of `authorizer` and `authorizer.requestResource`. */
interface AdmissionAuthorizer {
  readonly authorizer: Value;
  readonly requestResource: Value;
}

/** What `authorizer` stands for. @param requested - resource of the request */
export function authorizerOf(user: UserInfo, authorize: Authorize, requested: CheckedResource): AdmissionAuthorizer {
  const authorizer = new AuthorizerValue(user, authorize);
  return { authorizer, requestResource: new ResourceCheck(authorizer, requested) };
}

/** Variables of an evaluation. Values without an object are `null`. */
export function admissionActivation({
  object,
  oldObject,
  request,
  namespaceObject,
  params,
  authorizer,
  variables,
}: AdmissionInput): Activation {
  const values: Readonly<Record<string, Value | undefined>> = {
    object: jsonValue(object),
    oldObject: jsonValue(oldObject),
    request: jsonValue(request),
    namespaceObject: jsonValue(namespaceObject),
    params: jsonValue(params),
    authorizer: authorizer?.authorizer,
    "authorizer.requestResource": authorizer?.requestResource,
    variables,
  };
  return (name) => values[name];
}

/** Result of {@link evaluateAdmission}: a value, or an error in the API server's words. */
export interface AdmissionEvaluation {
  readonly value?: Value;
  readonly error?: string;
  /** What is left; negative if the expression cost more than there was. */
  readonly remaining: number;
}

/** Message of an evaluation that has used up the budget of its policy or webhook. */
export const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

/** Evaluates an expression within a budget. Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/cel/activation.go, `Evaluate`. */
export function evaluateAdmission(compiled: CompiledExpression, activation: Activation, budget: number): AdmissionEvaluation {
  const { value, error, cost }: Evaluation = compiled.evaluate(activation);
  const remaining = budget - cost;
  if (remaining < 0) return { error: outOfBudget, remaining: -1 };
  if (error !== undefined) return { error: `expression '${compiled.source}' resulted in error: ${error}`, remaining };
  return value === undefined ? { remaining } : { value, remaining };
}
