import { jsonText } from "../json/exact-json.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { compileGoRegExp, goRegExpProblem } from "../go-regexp/go-regexp.ts";
import type { FieldError } from "../kinds/kind.ts";
import { invalidValue, notSupported, required, tooLong, tooMany } from "../kinds/validation/field-errors.ts";
import type { Correlation } from "./correlation.ts";
import type { JsonSchema } from "./crd-fields.ts";
import { isOfFormat, schemaFormat } from "./formats.ts";
import { memberSchema } from "./prune-and-default.ts";
import { SchemaResult } from "./schema-result.ts";
import { checkCombinations } from "./validate-combinations.ts";
import { isInteger, numberErrors } from "./validate-number.ts";

/** A value with its place and, for updates, the old value. */
interface Place {
  readonly value: JsonValue;
  /** Such as `spec.replicas`; empty at the root. */
  readonly path: string;
  readonly correlation: Correlation | undefined;
}

/**
 * Validates a value against its schema. Errors of the value as a whole have the field `<nil>` if the path is empty.
 *
 * Source: k8s.io/kube-openapi pkg/validation/validate, in the order of schema.go; of the messages pkg/validation/errors/schema.go and
 * k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/validation/validation.go.
 *
 * @param path - such as `spec.replicas`; empty at the root
 * @param correlation - the value beside the old one, for updates: errors of what has not changed are dropped
 */
export function valueErrors(value: JsonValue, schema: JsonSchema, path: string, correlation?: Correlation): FieldError[] {
  const result = new SchemaResult();
  checkValue(result, schema, { value, path, correlation });
  return result.errors;
}

/** Source of the dropped errors: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/validation/ratcheting.go. */
function checkValue(result: SchemaResult, schema: JsonSchema, place: Place): void {
  const { correlation } = place;
  if (correlation === undefined) return checkSchema(result, schema, place);
  const own = new SchemaResult();
  checkSchema(own, schema, place);
  if (!own.isValid && correlation.isEqual) result.matches += own.matches;
  else result.merge(own);
}

function checkSchema(result: SchemaResult, schema: JsonSchema, place: Place): void {
  const { value, path } = place;
  checkType(result, value, schema, path);
  if (value !== null) {
    checkCombinations(result, schema, path, (one) => {
      const own = new SchemaResult();
      checkSchema(own, one, place);
      return own;
    });
    if (typeof value === "string") result.add(...textErrors(value, schema, path));
    if (typeof value === "number" || typeof value === "bigint") result.add(...numberErrors(value, schema, path));
    if (Array.isArray(value)) checkList(result, value, schema, place);
  }
  result.add(...enumErrors(value, schema, path));
  if (isJsonObject(value)) checkObject(result, value, schema, place);
  if (value !== null) result.matches += matchesOf(value, schema);
}

/** The real server counts the validators that apply to the kind of value, and some count themselves. */
function matchesOf(value: JsonValue, schema: JsonSchema): number {
  if (typeof value === "boolean") return 4;
  if (typeof value === "string") return schemaFormat(schema) === "" ? 5 : 6;
  return isJsonObject(value) ? 5 : 6;
}

function checkType(result: SchemaResult, value: JsonValue, schema: JsonSchema, path: string): void {
  const isChecked = schema.type !== undefined || schema["x-kubernetes-int-or-string"] === true || schemaFormat(schema) !== "";
  const error = isChecked ? typeError(value, schema, path) : undefined;
  if (error !== undefined) result.add(error);
  else if (isChecked || value === null) result.matches++;
  if (isChecked && value !== null) result.matches++;
}

/** Name of a field in an error. */
function fieldOf(path: string): string {
  return path === "" ? "<nil>" : path;
}

function body(path: string): string {
  return `${path} in body`;
}

/** Source: k8s.io/kube-openapi pkg/validation/validate/type.go. */
function typeError(value: JsonValue, schema: JsonSchema, path: string): FieldError | undefined {
  const types = typesOf(schema);
  const format = schemaFormat(schema);
  const actual = typeName(value);
  if (value === null) return schema.nullable === true || types.length === 0 ? undefined : wrongType(types.join(), path, actual);
  if (types.includes(actual) || (actual === "integer" && types.includes("number"))) return undefined;
  if (format === "") return wrongType(types.join(), path, actual);
  const goFormat = actual === "integer" ? "int64" : actual === "number" ? "float64" : "";
  if (typeof value !== "string" && !Array.isArray(value)) return format === goFormat ? undefined : wrongType(format, path, goFormat);
  return types.includes("number") || types.includes("integer") ? wrongType(types.join(), path, actual) : undefined;
}

function typesOf({ type = "", ...schema }: JsonSchema): readonly string[] {
  if (schema["x-kubernetes-int-or-string"] === true) return ["integer", "string"];
  return type === "" ? [] : [type];
}

/** The real server quotes the name of the actual type. */
function wrongType(type: string, path: string, actual: string): FieldError {
  const message = `${body(path)} must be of type ${type}: ${JSON.stringify(actual)}`;
  return { ...invalidValue(fieldOf(path), actual, message), reason: "FieldValueTypeInvalid" };
}

function typeName(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return isInteger(value) ? "integer" : typeof value;
}

/** Null is none of the values, also if it is one of those that are listed. */
function enumErrors(value: JsonValue, { enum: allowed = [] }: JsonSchema, path: string): FieldError[] {
  if (allowed.length === 0 || (value !== null && allowed.some((one) => isListed(value, one)))) return [];
  const texts = allowed.map((one) => (typeof one === "string" ? one : jsonText(one)));
  return [notSupported(fieldOf(path), value, texts)];
}

/** A number is compared with an integer by its integral part. Source: values.go and validator.go, where a value takes the type of the listed one. */
function isListed(value: JsonValue, one: JsonValue): boolean {
  return equalJson(one, typeof value === "number" && isInteger(one) ? Math.trunc(value) : value);
}

function textErrors(value: string, schema: JsonSchema, path: string): FieldError[] {
  const format = schemaFormat(schema);
  const limit = textLimitError(value, schema, path);
  const errors = limit === undefined ? [] : [limit];
  if (format === "" || isOfFormat(format, value)) return errors;
  const error = invalidValue(fieldOf(path), value, `${body(path)} must be of type ${format}: ${JSON.stringify(value)}`);
  return [...errors, { ...error, reason: "FieldValueTypeInvalid" }];
}

/** Only the first of these errors is reported. */
function textLimitError(value: string, { minLength, maxLength, pattern }: JsonSchema, path: string): FieldError | undefined {
  const length = minLength === undefined && maxLength === undefined ? 0 : Array.from(value).length;
  if (maxLength !== undefined && length > maxLength) return tooLong(fieldOf(path), maxLength);
  if (minLength !== undefined && length < minLength)
    return invalidValue(fieldOf(path), value, `${body(path)} should be at least ${minLength} chars long`);
  if (pattern === undefined || pattern === "" || matches(pattern, value)) return undefined;
  return invalidValue(fieldOf(path), value, `${body(path)} should match '${pattern}'`);
}

/** An expression that does not compile, which only definitions from before a check can have, matches no string. */
function matches(pattern: string, value: string): boolean {
  return goRegExpProblem(pattern) === undefined && compileGoRegExp(pattern).test(value);
}

function checkList(result: SchemaResult, value: readonly JsonValue[], schema: JsonSchema, { path, correlation }: Place): void {
  const { minItems, maxItems, items } = schema;
  const count = value.length;
  if (items !== undefined)
    for (const [index, item] of value.entries())
      checkValue(result, items, { value: item, path: `${path}[${index}]`, correlation: correlation?.index(index) });
  if (minItems !== undefined && count < minItems)
    result.add(invalidValue(fieldOf(path), count, `${body(path)} should have at least ${minItems} items`));
  if (maxItems !== undefined && count > maxItems) result.add(tooMany(fieldOf(path), count, maxItems));
}

function checkObject(result: SchemaResult, value: JsonObject, schema: JsonSchema, { path, correlation }: Place): void {
  const { required: names = [], minProperties, maxProperties } = schema;
  const count = Object.keys(value).length;
  const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
  if (minProperties !== undefined && count < minProperties)
    result.add(invalidValue(fieldOf(path), count, `${body(path)} should have at least ${minProperties} properties`));
  if (maxProperties !== undefined && count > maxProperties) result.add(tooMany(fieldOf(path), count, maxProperties));
  for (const [name, member] of Object.entries(value)) {
    const property = memberSchema(schema, name);
    if (property !== undefined) checkValue(result, property, { value: member, path: at(name), correlation: correlation?.key(name) });
  }
  for (const name of names) if (!Object.hasOwn(value, name)) result.add(required(at(name)));
}
