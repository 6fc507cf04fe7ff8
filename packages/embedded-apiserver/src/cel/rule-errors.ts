import type { JsonSchema, ValidationRule } from "../custom-resources/crd-fields.ts";
import type { FieldError } from "../kinds/kind.ts";
import { forbiddenField, invalidValue } from "../kinds/validation/field-errors.ts";
import { escapeProperty } from "./escape.ts";
import { compileRules, unboundedCardinality, type CompiledRule } from "./rule-compilation.ts";
import { schemaType, type SchemaType } from "./schema-types.ts";

/** Source of this file: k8s.io/apiextensions-apiserver v0.36.3 pkg/apis/apiextensions/validation/validation.go and cel_validation.go. */

const ruleCostLimit = 10_000_000;
const schemaCostLimit = 100_000_000;
const maxCost = 2 ** 64;

/**
 * Compiles the rules of a valid schema and estimates their costs.
 *
 * @param field - path of the schema, such as `spec.versions[0].schema.openAPIV3Schema`
 */
export function ruleErrors(schema: JsonSchema, field: string): FieldError[] {
  const visitor = new RuleVisitor();
  visitor.visit({ schema, field, isResource: true, type: undefined, cardinality: 1, uncorrelatable: undefined });
  return visitor.finish(field);
}

interface SchemaNode {
  readonly schema: JsonSchema;
  readonly field: string;
  readonly isResource: boolean;
  /** Type as the schema above declares it; `undefined` if there is no rule above. */
  readonly type: SchemaType | undefined;
  /** Greatest number of values of the schema in one object; `undefined` if there is no limit. */
  readonly cardinality: number | undefined;
  /** Path of the list or map whose values cannot be compared with their old values. */
  readonly uncorrelatable: string | undefined;
}

class RuleVisitor {
  readonly #errors: FieldError[] = [];
  readonly #expensive: { readonly field: string; readonly cost: number }[] = [];
  #total = 0;

  visit(node: SchemaNode): void {
    const { schema, isResource } = node;
    const rules = schema["x-kubernetes-validations"] ?? [];
    const type = node.type ?? (rules.length > 0 ? schemaType(schema, isResource, "selfType0") : undefined);
    this.#visitParts(node, type);
    if (rules.length > 0 && type !== undefined) this.#check(node, rules, type);
  }

  #visitParts({ schema, field, cardinality, uncorrelatable }: SchemaNode, type: SchemaType | undefined): void {
    const within = cardinality === undefined ? undefined : multiply(cardinality, maxElements(schema));
    const child = (part: JsonSchema, place: string, childType: SchemaType | undefined, forbidden: string | undefined): void =>
      this.visit({
        schema: part,
        field: `${field}.${place}`,
        isResource: part["x-kubernetes-embedded-resource"] === true,
        type: childType,
        cardinality: within,
        uncorrelatable: forbidden,
      });
    const { additionalProperties, properties = {}, items } = schema;
    if (typeof additionalProperties === "object") child(additionalProperties, "additionalProperties", type?.element, uncorrelatable);
    for (const [name, property] of Object.entries(properties))
      child(property, `properties[${name}]`, type?.fields?.get(escapeProperty(name) ?? ""), uncorrelatable);
    if (items !== undefined)
      child(items, "items", type?.element, schema["x-kubernetes-list-type"] === "map" ? uncorrelatable : (uncorrelatable ?? field));
  }

  #check(node: SchemaNode, rules: readonly ValidationRule[], type: SchemaType): void {
    for (const [index, compiled] of compileRules(rules, node.schema, type).entries())
      this.#checkRule(node, compiled, type, `${node.field}.x-kubernetes-validations[${index}]`);
  }

  #checkRule({ cardinality, uncorrelatable }: SchemaNode, compiled: CompiledRule, type: SchemaType, field: string): void {
    const { rule, problem, messageProblem, message, usesOldSelf } = compiled;
    const cost = multiply(compiled.maxCost, cardinality ?? unboundedCardinality(type)) ?? maxCost;
    this.#checkCost(`${field}.rule`, "estimated rule cost", cost);
    if (problem !== undefined) this.#errors.push(invalidValue(`${field}.rule`, shownRule(rule), problem));
    if (messageProblem !== undefined) this.#errors.push(invalidValue(`${field}.messageExpression`, shownRule(rule), messageProblem));
    else if (message !== undefined)
      this.#checkCost(`${field}.messageExpression`, "estimated messageExpression cost", compiled.messageMaxCost);
    if (usesOldSelf && uncorrelatable !== undefined)
      this.#errors.push(
        invalidValue(
          `${field}.rule`,
          rule.rule,
          `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`,
        ),
      );
    if (!usesOldSelf && rule.optionalOldSelf !== undefined)
      this.#errors.push(invalidValue(`${field}.optionalOldSelf`, rule.optionalOldSelf, "may not be set if oldSelf is not used in rule"));
  }

  #checkCost(field: string, name: string, cost: number): void {
    if (cost > ruleCostLimit) this.#errors.push(forbiddenField(field, excess(name, cost, ruleCostLimit)));
    this.#total = Math.min(maxCost, this.#total + cost);
    if (cost >= schemaCostLimit / 100) this.#expensive.push({ field, cost });
  }

  finish(field: string): FieldError[] {
    if (this.#total <= schemaCostLimit) return this.#errors;
    const most = this.#expensive.toSorted((a, b) => b.cost - a.cost).slice(0, 4);
    const contributed = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    const name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    return [
      ...this.#errors,
      ...most.map((one) => forbiddenField(one.field, contributed)),
      forbiddenField(field, excess(name, this.#total, schemaCostLimit)),
    ];
  }
}

/** The rule as the real server shows it: the fields of its internal type. */
function shownRule({ rule, message = "", messageExpression = "", reason, fieldPath = "", optionalOldSelf }: ValidationRule): object {
  return {
    Rule: rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: reason ?? null,
    FieldPath: fieldPath,
    OptionalOldSelf: optionalOldSelf ?? null,
  };
}

/** By how much a schema multiplies the number of values below it; `undefined` if there is no limit. */
function maxElements({ type, additionalProperties, maxProperties, maxItems }: JsonSchema): number | undefined {
  if (type === "array") return maxItems === undefined ? undefined : Math.max(0, maxItems);
  if (type !== "object" || additionalProperties === undefined) return 1;
  return maxProperties === undefined ? undefined : Math.max(0, maxProperties);
}

function multiply(a: number, b: number | undefined): number | undefined {
  return b === undefined ? undefined : Math.min(maxCost, a * b);
}

function excess(name: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const text = factor > 100 ? "more than 100" : factor.toFixed(factor < 1.5 ? 6 : 1);
  return `${name} exceeds budget by factor of ${text}x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}
