import type { JsonSchema, ValidationRule } from "../custom-resources/crd-fields.ts";
import { validFieldPath } from "../custom-resources/field-path.ts";
import { compileExpression, type CompiledExpression } from "./compile.ts";
import type { Environment } from "./environment.ts";
import { estimateCost } from "./estimate-cost.ts";
import { baseFunctions } from "./functions/index.ts";
import { fieldTypes, maxRequestBytes, type SchemaType } from "./schema-types.ts";
import { optionalType, type CelType } from "./types.ts";

/** A rule of a schema, ready to be evaluated. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  /** `undefined` for an empty rule and for one that does not compile. */
  readonly program?: CompiledExpression;
  /** Why the rule does not compile. */
  readonly problem?: string;
  readonly usesOldSelf: boolean;
  /** Greatest cost of one evaluation. */
  readonly maxCost: number;
  readonly message?: CompiledExpression;
  readonly messageProblem?: string;
  readonly messageMaxCost: number;
  /** Place of the error below the value, such as `.x`. */
  readonly fieldPath: string;
}

/**
 * Compiles the rules of one schema.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/cel/compilation.go.
 *
 * @param type - type of the schema's values
 */
export function compileRules(rules: readonly ValidationRule[], schema: JsonSchema, type: SchemaType): readonly CompiledRule[] {
  if (rules.length === 0) return [];
  const fieldType = fieldTypes([type]);
  const environment = (oldSelf: CelType): Environment => ({
    variables: new Map([
      ["self", type.celType],
      ["oldSelf", oldSelf],
    ]),
    functions: baseFunctions,
    fieldType,
  });
  const plain = environment(type.celType);
  const optional = environment(optionalType(type.celType));
  return rules.map((rule) => compileRule(rule, rule.optionalOldSelf === true ? optional : plain, schema, type));
}

/** How often a value of a type can occur in one object if nothing limits it. */
export function unboundedCardinality({ minSize }: SchemaType): number {
  return Math.floor(maxRequestBytes / (minSize + 1));
}

const notCompiled = { usesOldSelf: false, maxCost: 0, messageMaxCost: 0, fieldPath: "" } as const;

function compileRule(rule: ValidationRule, environment: Environment, schema: JsonSchema, type: SchemaType): CompiledRule {
  if (rule.rule.trim() === "") return { rule, ...notCompiled };
  const { compiled, problem } = compileExpression(environment, rule.rule);
  if (compiled === undefined) return { rule, ...notCompiled, problem };
  if (compiled.outputType.kind !== "bool") return { rule, ...notCompiled, problem: "cel expression must evaluate to a bool" };
  const path = rule.fieldPath === undefined || rule.fieldPath === "" ? undefined : validFieldPath(rule.fieldPath, schema);
  return {
    rule,
    program: compiled,
    usesOldSelf: compiled.checked.variables.has("oldSelf"),
    maxCost: estimateCost(compiled, type),
    messageMaxCost: 0,
    fieldPath: typeof path === "object" ? path.path : "",
    ...compileMessage(rule.messageExpression ?? "", environment, type),
  };
}

function compileMessage(
  source: string,
  environment: Environment,
  type: SchemaType,
): Partial<Pick<CompiledRule, "message" | "messageProblem" | "messageMaxCost">> {
  if (source === "") return {};
  const { compiled, problem } = compileExpression(environment, source);
  if (compiled === undefined) return { messageProblem: `messageExpression ${problem.replace("program ", "")}` };
  if (compiled.outputType.kind !== "string") return { messageProblem: "messageExpression must evaluate to a string" };
  return { message: compiled, messageMaxCost: estimateCost(compiled, type) };
}
