import type { Mutation, PolicySpec } from "../admission/policies/policy-fields.ts";
import type { JsonObject } from "../json/json-value.ts";
import {
  admissionActivation,
  compileAdmissionExpression,
  outOfBudget,
  type AdmissionCompilation,
  type AdmissionInput,
} from "./admission-expressions.ts";
import { compileMatchConditions, type MatchResult } from "./match-conditions.ts";
import { configurationOf, ConversionError, patchOperation, typeNameProblems } from "./patch-values.ts";
import { compileVariables, declared, PolicyRun } from "./policy-run.ts";
import type { CelType } from "./types.ts";
import { CelList, MessageValue, type Value } from "./values.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/mutating/compilation.go and patch/. */

/** What a mutation wants to change: an apply configuration without `apiVersion` and `kind`, or operations of a JSON patch. */
export type MutationPatch =
  | { readonly configuration: JsonObject; readonly operations?: never; readonly problem?: never }
  | { readonly operations: readonly JsonObject[]; readonly configuration?: never; readonly problem?: never }
  | { readonly problem: string; readonly configuration?: never; readonly operations?: never };

/** A MutatingAdmissionPolicy whose expressions are compiled. */
interface MutationProgram {
  /** Evaluates the match conditions. */
  matches(input: AdmissionInput): MatchResult;
  /** Evaluates each mutation for the object as the earlier ones have left it. */
  readonly mutations: readonly ((input: AdmissionInput) => MutationPatch)[];
}

const resultTypes: Readonly<Record<string, string>> = { JSONPatch: "list(JSONPatch)", ApplyConfiguration: "Object" };

/** Expression of a mutation, and the name of the field that has it. */
export function patchOf({ patchType, jsonPatch, applyConfiguration }: Mutation): { readonly expression: string; readonly field: string } {
  return patchType === "JSONPatch"
    ? { expression: jsonPatch?.expression ?? "", field: "jsonPatch" }
    : { expression: applyConfiguration?.expression ?? "", field: "applyConfiguration" };
}

/** Compiles the expression of a mutation. @param variables - types of the members of `variables` */
export function compileMutation(
  { patchType = "" }: Mutation,
  source: string,
  paramKind: PolicySpec["paramKind"],
  variables: ReadonlyMap<string, CelType>,
): AdmissionCompilation {
  const known = { ...declared(paramKind, true, variables), patchTypes: true };
  return compileAdmissionExpression(source, known, [resultTypes[patchType] ?? ""]);
}

/** Compiles a policy. Expressions that do not compile, which validation prevents, are problems of every evaluation. */
export function compileMutations(spec: PolicySpec): MutationProgram {
  const { paramKind, mutations = [], matchConditions = [], failurePolicy = "Fail" } = spec;
  const { types, compiled: variables } = compileVariables(spec);
  const matches = compileMatchConditions(matchConditions, { params: paramKind !== undefined, authorizer: true });
  return {
    matches: (input) => matches(admissionActivation(input), failurePolicy),
    mutations: mutations.map((mutation) => {
      const compilation = compileMutation(mutation, patchOf(mutation).expression, paramKind, types);
      return (input) => {
        if (compilation.compiled === undefined) return { problem: compilation.problem };
        const run = new PolicyRun(input, variables);
        const { value, error } = run.evaluate(compilation);
        if (error !== undefined) return { problem: error };
        if (value === undefined) return { problem: outOfBudget };
        return mutation.patchType === "JSONPatch" ? operationsOf(value) : configured(value);
      };
    }),
  };
}

function configured(value: Value): MutationPatch {
  if (!(value instanceof MessageValue)) return { problem: "unsupported return type from ApplyConfiguration expression" };
  const problems = typeNameProblems(value);
  if (problems.length > 0) return { problem: `type mismatch: ${problems.join("\n")}` };
  const configuration = configurationOf(value);
  return configuration === undefined ? { problem: "invalid return type: *dynamic.ObjectVal" } : { configuration };
}

function operationsOf(value: Value): MutationPatch {
  if (!(value instanceof CelList)) return { problem: "type mismatch: JSONPatchType.expression should evaluate to array" };
  try {
    return { operations: Array.from(value, (item) => patchOperation(item as MessageValue)) };
  } catch (error) {
    if (error instanceof ConversionError) return { problem: error.message };
    throw error;
  }
}
