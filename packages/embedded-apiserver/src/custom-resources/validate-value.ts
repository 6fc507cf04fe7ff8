import { jsonText } from "../json/exact-json.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { compileGoRegExp, goRegExpProblem } from "../go-regexp/go-regexp.ts";
import type { FieldError } from "../kinds/kind.ts";
import { invalidValue, notSupported, required, tooLong, tooMany } from "../kinds/validation/field-errors.ts";
import type { Correlation } from "./correlation.ts";
import type { JsonSchema } from "./crd-fields.ts";
import { hasFormat, isOfFormat } from "./formats.ts";
import { memberSchema } from "./prune-and-default.ts";

/**
 * Errors of a value, and how many checks it went through: of alternatives that all fail, the errors of the one with the most checks are shown.
 *
 * Source: k8s.io/kube-openapi pkg/validation/validate/result.go.
 */
interface Result {
  readonly errors: FieldError[];
  matches: number;
}

/**
 * Validates a value against its schema.
 *
 * Source: k8s.io/kube-openapi pkg/validation/validate/schema.go and the validators beside it. Source of the messages: pkg/validation/errors/schema.go
 * there and k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/validation/validation.go.
 *
 * @param path - such as `spec.replicas`; empty at the root
 * @param correlation - the value beside the old one, for updates: errors of what has not changed are dropped
 */
export function valueErrors(value: JsonValue, schema: JsonSchema, path: string, correlation?: Correlation): FieldError[] {
  return validateChanged(value, schema, path, correlation).errors;
}

/** Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/validation/ratcheting.go. */
function validateChanged(value: JsonValue, schema: JsonSchema, path: string, correlation: Correlation | undefined): Result {
  const result = validateValue(value, schema, path, correlation);
  return result.errors.length > 0 && correlation?.isEqual === true ? { errors: [], matches: result.matches } : result;
}

function validateValue(value: JsonValue, schema: JsonSchema, path: string, correlation: Correlation | undefined): Result {
  const result: Result = { errors: [], matches: 0 };
  const type = typeError(value, schema, path);
  if (value === null) {
    if (type === undefined) result.matches++;
    add(result, type === undefined ? [] : [type]);
    add(result, enumErrors(value, schema, path));
    return result;
  }
  if (type !== undefined) add(result, [type], 1);
  else if (isTyped(schema)) result.matches += 2;
  addCombined(result, value, schema, path, correlation);
  if (typeof value === "string") {
    add(result, textErrors(value, schema, path), 1);
    if (hasFormat(schema.format)) add(result, formatErrors(value, schema, path), 1);
  }
  if (typeof value === "number" || typeof value === "bigint") add(result, numberErrors(value, schema, path), 2);
  if (Array.isArray(value)) addItems(result, value, schema, path, correlation);
  add(result, enumErrors(value, schema, path), 1);
  if (isJsonObject(value)) addFields(result, value, schema, path, correlation);
  result.matches++;
  return result;
}

/** Adds errors, each message once. */
function add(result: Result, errors: readonly FieldError[], matches = 0): void {
  const { errors: known } = result;
  for (const error of errors)
    if (!known.some(({ field, message }) => field === error.field && message === error.message)) known.push(error);
  result.matches += matches;
}

function merge(result: Result, { errors, matches }: Result): void {
  add(result, errors, matches);
}

function isTyped({ type = "", format = "", "x-kubernetes-int-or-string": isIntOrString }: JsonSchema): boolean {
  return type !== "" || format !== "" || isIntOrString === true;
}

function body(path: string): string {
  return `${path} in body`;
}

function typeError(value: JsonValue, schema: JsonSchema, path: string): FieldError | undefined {
  const { type = "" } = schema;
  if (value === null && schema.nullable === true) return undefined;
  const actual = typeName(value);
  if (schema["x-kubernetes-int-or-string"] === true) {
    if (actual === "integer" || actual === "string") return undefined;
    return wrongType(value, "integer,string", path);
  }
  if (type === "" || type === actual || (type === "number" && actual === "integer")) return undefined;
  // Source: k8s.io/kube-openapi pkg/validation/validate/type.go: the formats are compared first.
  const { format = "" } = schema;
  if (format === "" || value === null || typeof value === "string" || Array.isArray(value)) return wrongType(value, type, path);
  return wrongType(value, format, path, actual === "integer" ? "int64" : actual === "number" ? "float64" : "");
}

function wrongType(value: JsonValue, type: string, path: string, actual: string = typeName(value)): FieldError {
  const message = `${body(path)} must be of type ${type}: ${JSON.stringify(actual)}`;
  // The real server quotes the name of the actual type.
  return { ...invalidValue(path, actual, message), reason: "FieldValueTypeInvalid" };
}

function typeName(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (isInteger(value)) return "integer";
  return typeof value;
}

/** Go reads a number beyond 64 bits as floating point. */
function isInteger(value: JsonValue): boolean {
  return typeof value === "bigint" || (Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 63);
}

function enumErrors(value: JsonValue, { enum: allowed }: JsonSchema, path: string): FieldError[] {
  if (allowed === undefined || allowed.some((one) => equalJson(one, value))) return [];
  const texts = allowed.map((one) => (typeof one === "string" ? one : jsonText(one)));
  return [notSupported(path, value, texts)];
}

function numberErrors(value: number | bigint, schema: JsonSchema, path: string): FieldError[] {
  const { minimum, maximum, multipleOf } = schema;
  const wrong = (problem: string): FieldError => invalidValue(path, value, `${body(path)} should be ${problem}`);
  const errors = rangeErrors(value, schema, path);
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) errors.push(wrong(`a multiple of ${multipleOf}`));
  if (minimum !== undefined && (schema.exclusiveMinimum === true ? value <= minimum : value < minimum))
    errors.push(wrong(`greater than ${schema.exclusiveMinimum === true ? "" : "or equal to "}${minimum}`));
  if (maximum !== undefined && (schema.exclusiveMaximum === true ? value >= maximum : value > maximum))
    errors.push(wrong(`less than ${schema.exclusiveMaximum === true ? "" : "or equal to "}${maximum}`));
  return errors;
}

function isMultiple(value: number | bigint, divisor: number): boolean {
  return typeof value === "bigint" && Number.isInteger(divisor)
    ? value % BigInt(divisor) === 0n
    : Number.isInteger(Number(value) / divisor);
}

/** Source: k8s.io/kube-openapi pkg/validation/validate/values.go, `IsValueValidAgainstRange`, whose error names no field. */
function rangeErrors(value: number | bigint, { type, format = "" }: JsonSchema, path: string): FieldError[] {
  if (type !== "integer") return [];
  const isInRange = format !== "int32" || (value >= -(2 ** 31) && value <= 2 ** 31 - 1);
  if (isInteger(value) && isInRange) return [];
  const written = format === "" ? "(default format)" : `with format ${format}`;
  return [ofNoField(`Checked value must be of type integer ${written} in ${path}`)];
}

function textErrors(value: string, schema: JsonSchema, path: string): FieldError[] {
  const { minLength, maxLength, pattern } = schema;
  const { length } = Array.from(value);
  // Only the first of these errors is reported.
  if (maxLength !== undefined && length > maxLength) return [tooLong(path, maxLength)];
  if (minLength !== undefined && length < minLength)
    return [invalidValue(path, value, `${body(path)} should be at least ${minLength} chars long`)];
  if (pattern !== undefined && !matches(pattern, value)) return [invalidValue(path, value, `${body(path)} should match '${pattern}'`)];
  return [];
}

function formatErrors(value: string, { format = "" }: JsonSchema, path: string): FieldError[] {
  if (isOfFormat(format, value)) return [];
  const error = invalidValue(path, value, `${body(path)} must be of type ${format}: ${JSON.stringify(value)}`);
  return [{ ...error, reason: "FieldValueTypeInvalid" }];
}

/** An expression that does not compile, which only definitions from before a check can have, matches no string. */
function matches(pattern: string, value: string): boolean {
  return goRegExpProblem(pattern) === undefined && compileGoRegExp(pattern).test(value);
}

function addItems(
  result: Result,
  value: readonly JsonValue[],
  schema: JsonSchema,
  path: string,
  correlation: Correlation | undefined,
): void {
  const { minItems, maxItems, items } = schema;
  if (items !== undefined)
    for (const [index, item] of value.entries())
      merge(result, validateChanged(item, items, `${path}[${index}]`, correlation?.index(index)));
  if (minItems !== undefined && value.length < minItems)
    add(result, [invalidValue(path, value.length, `${body(path)} should have at least ${minItems} items`)]);
  if (maxItems !== undefined && value.length > maxItems) add(result, [tooMany(path, value.length, maxItems)]);
  result.matches += 2;
}

function addFields(result: Result, value: JsonObject, schema: JsonSchema, path: string, correlation: Correlation | undefined): void {
  const { required: names = [], minProperties, maxProperties } = schema;
  const count = Object.keys(value).length;
  const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
  if (minProperties !== undefined && count < minProperties)
    add(result, [invalidValue(path, value, `${body(path)} should have at least ${minProperties} properties`)]);
  if (maxProperties !== undefined && count > maxProperties) add(result, [tooMany(path, count, maxProperties)]);
  for (const [name, member] of Object.entries(value)) {
    const property = memberSchema(schema, name);
    if (property !== undefined) merge(result, validateChanged(member, property, at(name), correlation?.key(name)));
  }
  for (const name of names) if (!Object.hasOwn(value, name)) add(result, [required(at(name))]);
  result.matches++;
}

/** Source: schema_props.go. What is tried against alternatives is the same value, so that its own errors are not dropped if it has not changed. */
function addCombined(result: Result, value: JsonValue, schema: JsonSchema, path: string, correlation: Correlation | undefined): void {
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  const resultsOf = (schemas: readonly JsonSchema[]): Result[] => schemas.map((one) => validateValue(value, one, path, correlation));
  const problem = (words: string): void => add(result, [ofNoField(`${JSON.stringify(path)} must ${words}`)]);
  if (anyOf.length > 0) {
    const results = resultsOf(anyOf);
    const success = results.find(isValid);
    if (success === undefined) problem("validate at least one schema (anyOf)");
    merge(result, success ?? bestOf(results));
  }
  if (oneOf.length > 0) {
    const results = resultsOf(oneOf);
    const successes = results.filter(isValid);
    const found = successes.length === 0 ? "none valid" : `${successes.length} valid alternatives`;
    if (successes.length !== 1) problem(`validate one and only one schema (oneOf). Found ${found}`);
    if (successes.length < 2) merge(result, successes[0] ?? bestOf(results));
  }
  const results = resultsOf(allOf);
  for (const one of results) merge(result, one);
  if (!results.every(isValid)) problem(`validate all the schemas (allOf)${results.some(isValid) ? "" : ". None validated"}`);
  if (not !== undefined && isValid(validateValue(value, not, path, correlation))) problem("not validate the schema (not)");
  result.matches += 2;
}

function isValid({ errors }: Result): boolean {
  return errors.length === 0;
}

/** The first of the results with the most checks. */
function bestOf(results: readonly Result[]): Result {
  return results.reduce((best, one) => (one.matches > best.matches ? one : best));
}

/** An error that says itself where it is, which the real server reports without a field. */
function ofNoField(problem: string): FieldError {
  return invalidValue("<nil>", "", problem);
}
