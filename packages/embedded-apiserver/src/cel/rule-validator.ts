import type { Correlation } from "../custom-resources/correlation.ts";
import { oldItem } from "../custom-resources/correlation.ts";
import type { JsonSchema } from "../custom-resources/crd-fields.ts";
import { isJsonObject, type JsonValue } from "../json/json-value.ts";
import type { FieldError } from "../kinds/kind.ts";
import { duplicate, forbiddenField, invalidPart, invalidValue, required } from "../kinds/validation/field-errors.ts";
import { ownValue } from "@virtual-kubelet/kubernetes";
import type { CompiledExpression } from "./compile.ts";
import { costLimitExceeded } from "./cost.ts";
import type { Activation } from "./evaluate.ts";
import { escapeProperty } from "./escape.ts";
import { compileRules, type CompiledRule } from "./rule-compilation.ts";
import { schemaType, withObjectMeta, type SchemaType } from "./schema-types.ts";
import { schemaValue } from "./schema-values.ts";
import { CelOptional, type Value } from "./values.ts";

/** Source of this file: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/cel/validation.go. */

/** Budget of all rules of one object; source: k8s.io/apiserver v0.36.3 pkg/apis/cel/config.go. */
const objectBudget = 10_000_000;
const maxMessageBytes = 5 * 1024;

/** Rules of a schema and of the schemas inside it. */
export interface RuleValidator {
  /**
   * Evaluates the rules.
   *
   * @param old - `undefined` for a new object
   * @param correlation - the object beside the old one, for updates
   * @param warn - called with errors about values that an update has not changed
   */
  validate(object: JsonValue, options?: RuleOptions): FieldError[];
}

/** Options of {@link RuleValidator.validate}. */
interface RuleOptions {
  readonly old?: JsonValue | undefined;
  readonly correlation?: Correlation | undefined;
  readonly warn?: ((message: string) => void) | undefined;
  /** Greatest cost of all rules; default: 10,000,000. */
  readonly budget?: number;
  /** Greatest cost of one rule; default: 1,000,000. */
  readonly perCall?: number;
  /** Path of the object; default: `""`. */
  readonly path?: string;
  /** Called with what all rules have cost. */
  readonly onCost?: (cost: number) => void;
}

/** Compiles the rules of a custom resource's schema; `undefined` if it has none. */
export function createRuleValidator(schema: JsonSchema, isResource: boolean = true): RuleValidator | undefined {
  const node = createNode(schema, schema, isResource, schemaType(schema, isResource, "selfType0"));
  if (node === undefined) return undefined;
  return {
    validate(object, { old, correlation, warn, budget = objectBudget, perCall, path = "", onCost } = {}) {
      const run: Run = { budget, remaining: budget, perCall, warn, errors: [] };
      validateNode(run, node, { value: object, old, path, correlation, parent: undefined });
      onCost?.(budget - run.remaining);
      // The real server has no path at the root.
      return run.errors.map((error) => (error.field === "" ? { ...error, field: "<nil>" } : error));
    },
  };
}

interface Node {
  readonly schema: JsonSchema;
  readonly isResource: boolean;
  readonly rules: readonly CompiledRule[];
  readonly problem?: string;
  readonly items: Node | undefined;
  readonly additional: Node | undefined;
  readonly properties: ReadonlyMap<string, Node>;
  readonly allOf: readonly Node[];
}

/** @param rules - schema with the rules: the schema itself, or one of its `allOf` */
function createNode(rules: JsonSchema, schema: JsonSchema, isResource: boolean, type: SchemaType | undefined): Node | undefined {
  const own = rules["x-kubernetes-validations"] ?? [];
  const compiled = type === undefined ? [] : compileRules(own, schema, type);
  const problem = own.length > 0 && type === undefined ? "failed to convert to declType for CEL validation rules" : undefined;
  const inside = insideNodes(rules, schema, type);
  const allOf = (rules.allOf ?? []).flatMap((one) => createNode(one, schema, isResource, type) ?? []);
  const isEmpty = own.length === 0 && allOf.length === 0 && inside.properties.size === 0;
  if (isEmpty && inside.items === undefined && inside.additional === undefined) return undefined;
  return { schema, isResource, rules: compiled, allOf, ...inside, ...(problem === undefined ? {} : { problem }) };
}

function insideNodes(
  rules: JsonSchema,
  schema: JsonSchema,
  type: SchemaType | undefined,
): Pick<Node, "items" | "additional" | "properties"> {
  const properties = propertyNodes(rules, schema, type);
  const inner = (part: JsonSchema["additionalProperties"], own: JsonSchema["additionalProperties"]): Node | undefined =>
    typeof part === "object" && typeof own === "object" ? createNode(part, own, isEmbedded(own), type?.element) : undefined;
  return {
    properties,
    items: inner(rules.items, schema.items),
    additional: inner(rules.additionalProperties, schema.additionalProperties),
  };
}

function isEmbedded(schema: JsonSchema): boolean {
  return schema["x-kubernetes-embedded-resource"] === true;
}

function propertyNodes(rules: JsonSchema, schema: JsonSchema, type: SchemaType | undefined): ReadonlyMap<string, Node> {
  const nodes = new Map<string, Node>();
  for (const [name, property] of Object.entries(rules.properties ?? {})) {
    const own = ownValue(schema.properties ?? {}, name);
    if (own === undefined || type === undefined) continue;
    const escaped = escapeProperty(name);
    const propertyType = escaped === undefined ? schemaType(own, isEmbedded(own), `selfType0.${name}`) : type.fields?.get(escaped);
    const node = propertyType === undefined ? undefined : createNode(property, own, isEmbedded(own), propertyType);
    if (node !== undefined) nodes.set(name, node);
  }
  return nodes;
}

/** One validation of an object. */
interface Run {
  readonly budget: number;
  /** What is left of the budget; negative if no further rule is to be evaluated. */
  remaining: number;
  readonly perCall: number | undefined;
  readonly warn: ((message: string) => void) | undefined;
  readonly errors: FieldError[];
}

interface Place {
  readonly value: JsonValue;
  readonly old: JsonValue | undefined;
  readonly path: string;
  readonly correlation: Correlation | undefined;
  /** Nearest place above that has an old value. */
  readonly parent: Correlation | undefined;
  /** Whether errors are never dropped, as inside `apiVersion` and `kind`. */
  readonly isFixed?: boolean;
}

function validateNode(run: Run, node: Node, place: Place): void {
  const { value, old } = place;
  if (value === null) return;
  evaluateRules(run, node, place);
  for (const one of node.allOf) if (run.remaining >= 0) validateNode(run, one, { ...place, correlation: undefined });
  if (Array.isArray(value)) validateItems(run, node, place, value, Array.isArray(old) ? old : []);
  else if (isJsonObject(value)) validateMembers(run, node, place, value);
}

function validateItems(run: Run, { items, schema }: Node, place: Place, value: readonly JsonValue[], old: readonly JsonValue[]): void {
  if (items === undefined) return;
  for (const [index, item] of value.entries()) {
    if (run.remaining < 0) return;
    validateNode(run, items, {
      value: item,
      old: oldItem(schema, old, item),
      path: `${place.path}[${index}]`,
      ...below(place, (correlation) => correlation.index(index)),
    });
  }
}

function validateMembers(
  run: Run,
  { additional, properties, schema }: Node,
  place: Place,
  value: Readonly<Record<string, JsonValue>>,
): void {
  const old = isJsonObject<JsonValue>(place.old) && isCorrelatable(schema) ? place.old : {};
  for (const [name, member] of Object.entries(value)) {
    const node = properties.get(name) ?? additional;
    if (node === undefined || run.remaining < 0) continue;
    const path = properties.has(name) ? (place.path === "" ? name : `${place.path}.${name}`) : `${place.path}[${name}]`;
    const isTypeMeta = place.parent === undefined && (name === "apiVersion" || name === "kind");
    const correlated = isTypeMeta
      ? { correlation: undefined, parent: undefined, isFixed: true }
      : below(place, (correlation) => correlation.key(name));
    validateNode(run, node, { value: member, old: ownValue(old, name), path, ...correlated });
  }
}

function below(place: Place, child: (correlation: Correlation) => Correlation | undefined): Pick<Place, "correlation" | "parent"> {
  const { correlation, parent } = place;
  return correlation === undefined ? { correlation, parent } : { correlation: child(correlation), parent: correlation };
}

function isCorrelatable(schema: JsonSchema): boolean {
  const type = schema["x-kubernetes-map-type"];
  return type === undefined || type === "granular" || type === "atomic";
}

function evaluateRules(run: Run, node: Node, place: Place): void {
  const { schema, rules, problem } = node;
  if (problem !== undefined) return fail(run, node, place, `rule compiler initialization error: ${problem}`);
  if (rules.length === 0) return;
  if (run.remaining <= 0) return end(run, node, place, outOfBudget);
  const values = new RuleValues(place, node.isResource ? withObjectMeta(schema) : schema);
  for (const compiled of rules) {
    if (run.remaining < 0) return;
    if (compiled.problem !== undefined) fail(run, node, place, `rule compile error: ${compiled.problem}`);
    else evaluateRule(run, node, place, compiled, values);
  }
}

function fail(run: Run, { schema }: Node, { path }: Place, detail: string): void {
  run.errors.push(invalidValue(path, schema.type ?? "", detail));
}

/** Reports an error after which no further rule is evaluated. */
function end(run: Run, node: Node, place: Place, detail: string): void {
  run.remaining = -1;
  fail(run, node, place, detail);
}

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

/** Values of `self` and `oldSelf`, converted when they are read. */
class RuleValues {
  readonly #place: Place;
  readonly #schema: JsonSchema;
  #self: Value | undefined;
  #oldSelf: Value | undefined;

  constructor(place: Place, schema: JsonSchema) {
    this.#place = place;
    this.#schema = schema;
  }

  activation(isOptional: boolean): Activation {
    return (name) => {
      if (name === "self") return (this.#self ??= schemaValue(this.#place.value, this.#schema));
      if (name !== "oldSelf") return undefined;
      const { old } = this.#place;
      const oldSelf = old === undefined || old === null ? undefined : (this.#oldSelf ??= schemaValue(old, this.#schema));
      return isOptional ? new CelOptional(oldSelf) : oldSelf;
    };
  }
}

function evaluateRule(run: Run, node: Node, place: Place, compiled: CompiledRule, values: RuleValues): void {
  const { rule, program, usesOldSelf } = compiled;
  const isOptional = rule.optionalOldSelf === true;
  if (program === undefined || (usesOldSelf && (place.old === undefined || place.old === null) && !isOptional)) return;
  const activation = values.activation(isOptional);
  const { value, error, cost } = program.evaluate(activation, run.perCall);
  if (cost > run.remaining) return end(run, node, place, outOfBudget);
  run.remaining -= cost;
  const shown = shownRule(compiled);
  if (error === costLimitExceeded)
    return end(run, node, place, `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown}`);
  if (error?.startsWith("no such overload") === true)
    return fail(
      run,
      node,
      place,
      `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${shown}`,
    );
  if (error !== undefined) return fail(run, node, place, `${error} evaluating rule: ${shown}`);
  if (value !== true) reportFailure(run, node, place, compiled, activation);
}

function reportFailure(run: Run, { schema }: Node, place: Place, compiled: CompiledRule, activation: Activation): void {
  const { rule, message, usesOldSelf, fieldPath } = compiled;
  const path = fieldPath === "" ? place.path : place.path === "" ? fieldPath : `${place.path}.${fieldPath}`;
  const add = (error: FieldError): void => {
    const unchanged = place.isFixed !== true && (place.correlation ?? place.parent)?.isEqual === true;
    if (unchanged && !usesOldSelf) run.warn?.(`${error.field || "<nil>"}: ${error.message}`);
    else run.errors.push(error);
  };
  const computed = message === undefined ? undefined : evaluateMessage(run, message, activation);
  if (computed?.fatal !== undefined) {
    run.remaining = -1;
    return add(invalidValue(path, schema.type ?? "", computed.fatal));
  }
  const written = (rule.message ?? "") === "" ? `failed rule: ${shownRule(compiled)}` : (rule.message ?? "").trim();
  add(errorForReason(path, schema, place.value, computed?.text ?? written, rule.reason));
}

/** The rule's message if it has one, otherwise the rule. */
function shownRule({ rule: { message = "", rule } }: CompiledRule): string {
  return (message === "" ? rule : message).trim();
}

/** Text of a message; nothing if it cannot be used; `fatal` if it ends the validation. */
function evaluateMessage(
  run: Run,
  message: CompiledExpression,
  activation: Activation,
): { readonly text?: string; readonly fatal?: string } {
  const { value, error, cost } = message.evaluate(activation, run.perCall);
  if (cost > run.remaining)
    return { fatal: "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run" };
  if (error === costLimitExceeded)
    return {
      fatal: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(message.source)}`,
    };
  run.remaining -= cost;
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" || text.includes("\n") || Buffer.byteLength(text) > maxMessageBytes ? {} : { text };
}

function errorForReason(path: string, { type }: JsonSchema, value: JsonValue, detail: string, reason: string | undefined): FieldError {
  const isShown = type !== "object" && type !== "array";
  switch (reason) {
    case "FieldValueForbidden":
      return forbiddenField(path, detail);
    case "FieldValueRequired":
      return required(path, detail);
    case "FieldValueDuplicate":
      return isShown ? duplicate(path, value) : { field: path, reason: "FieldValueDuplicate", message: "Duplicate value" };
    default:
      return isShown ? invalidValue(path, value, detail) : invalidPart(path, detail);
  }
}
