import { jsonText } from "../json/exact-json.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { compileGoRegExp, goRegExpProblem } from "../go-regexp/go-regexp.ts";
import type { FieldError } from "../kinds/kind.ts";
import { invalidValue, notSupported, required, tooLong, tooMany } from "../kinds/validation/field-errors.ts";
import type { Correlation } from "./correlation.ts";
import type { JsonSchema } from "./crd-fields.ts";
import { isOfFormat } from "./formats.ts";
import { memberSchema } from "./prune-and-default.ts";

/**
 * Validates a value against its schema.
 *
 * Source of the messages: k8s.io/kube-openapi pkg/validation/errors/schema.go and k8s.io/apiextensions-apiserver v0.36.3
 * pkg/apiserver/validation/validation.go.
 *
 * @param path - such as `spec.replicas`; empty at the root
 * @param correlation - the value beside the old one, for updates: errors of what has not changed are dropped
 */
export function valueErrors(value: JsonValue, schema: JsonSchema, path: string, correlation?: Correlation): FieldError[] {
  const errors = allErrors(value, schema, path, correlation);
  return errors.length > 0 && correlation?.isEqual === true ? [] : errors;
}

function allErrors(value: JsonValue, schema: JsonSchema, path: string, correlation: Correlation | undefined): FieldError[] {
  if (value === null && schema.nullable === true) return [];
  const type = typeError(value, schema, path);
  if (type !== undefined) return [type, ...rangeErrors(value, schema, path)];
  return [
    ...enumErrors(value, schema, path),
    ...scalarErrors(value, schema, path),
    ...(Array.isArray(value) ? arrayErrors(value, schema, path, correlation) : []),
    ...(isJsonObject(value) ? objectErrors(value, schema, path, correlation) : []),
    ...combinedErrors(value, schema, path),
  ];
}

function body(path: string): string {
  return `${path} in body`;
}

function typeError(value: JsonValue, schema: JsonSchema, path: string): FieldError | undefined {
  const { type = "" } = schema;
  const actual = typeName(value);
  if (schema["x-kubernetes-int-or-string"] === true) {
    if (actual === "integer" || actual === "string") return undefined;
    return wrongType(value, "integer,string", path);
  }
  if (type === "" || type === actual || (type === "number" && actual === "integer")) return undefined;
  // Source: k8s.io/kube-openapi pkg/validation/validate/type.go: the formats are compared first.
  const { format = "" } = schema;
  if (format === "" || typeof value === "string" || Array.isArray(value)) return wrongType(value, type, path);
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

function scalarErrors(value: JsonValue, schema: JsonSchema, path: string): FieldError[] {
  if (typeof value === "number" || typeof value === "bigint") return numberErrors(value, schema, path);
  return typeof value === "string" ? textErrors(value, schema, path) : [];
}

function numberErrors(value: number | bigint, schema: JsonSchema, path: string): FieldError[] {
  const { minimum, maximum, multipleOf } = schema;
  const wrong = (problem: string): FieldError => invalidValue(path, value, `${body(path)} should be ${problem}`);
  const errors: FieldError[] = [];
  if (maximum !== undefined && (schema.exclusiveMaximum === true ? value >= maximum : value > maximum))
    errors.push(wrong(`less than ${schema.exclusiveMaximum === true ? "" : "or equal to "}${maximum}`));
  if (minimum !== undefined && (schema.exclusiveMinimum === true ? value <= minimum : value < minimum))
    errors.push(wrong(`greater than ${schema.exclusiveMinimum === true ? "" : "or equal to "}${minimum}`));
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) errors.push(wrong(`a multiple of ${multipleOf}`));
  return [...rangeErrors(value, schema, path), ...errors];
}

function isMultiple(value: number | bigint, divisor: number): boolean {
  return typeof value === "bigint" && Number.isInteger(divisor)
    ? value % BigInt(divisor) === 0n
    : Number.isInteger(Number(value) / divisor);
}

/** Source: k8s.io/kube-openapi pkg/validation/validate/values.go, `IsValueValidAgainstRange`, whose error names no field. */
function rangeErrors(value: JsonValue, { type, format = "" }: JsonSchema, path: string): FieldError[] {
  if ((typeof value !== "number" && typeof value !== "bigint") || type !== "integer") return [];
  const isInRange = format !== "int32" || (value >= -(2 ** 31) && value <= 2 ** 31 - 1);
  if (isInteger(value) && isInRange) return [];
  const written = format === "" ? "(default format)" : `with format ${format}`;
  return [invalidValue("<nil>", "", `Checked value must be of type integer ${written} in ${path}`)];
}

function textErrors(value: string, schema: JsonSchema, path: string): FieldError[] {
  const { minLength, maxLength, pattern, format } = schema;
  const { length } = Array.from(value);
  // Only the first of these errors is reported.
  if (maxLength !== undefined && length > maxLength) return [tooLong(path, maxLength)];
  if (minLength !== undefined && length < minLength)
    return [invalidValue(path, value, `${body(path)} should be at least ${minLength} chars long`)];
  if (pattern !== undefined && !matches(pattern, value)) return [invalidValue(path, value, `${body(path)} should match '${pattern}'`)];
  if (format === undefined || isOfFormat(format, value)) return [];
  const error = invalidValue(path, value, `${body(path)} must be of type ${format}: ${JSON.stringify(value)}`);
  return [{ ...error, reason: "FieldValueTypeInvalid" }];
}

/** An expression that does not compile, which only definitions from before a check can have, matches no string. */
function matches(pattern: string, value: string): boolean {
  return goRegExpProblem(pattern) === undefined && compileGoRegExp(pattern).test(value);
}

function arrayErrors(value: readonly JsonValue[], schema: JsonSchema, path: string, correlation: Correlation | undefined): FieldError[] {
  const { minItems, maxItems, items } = schema;
  const errors: FieldError[] = [];
  if (minItems !== undefined && value.length < minItems)
    errors.push(invalidValue(path, value.length, `${body(path)} should have at least ${minItems} items`));
  if (maxItems !== undefined && value.length > maxItems) errors.push(tooMany(path, value.length, maxItems));
  if (items !== undefined)
    for (const [index, item] of value.entries()) errors.push(...valueErrors(item, items, `${path}[${index}]`, correlation?.index(index)));
  return errors;
}

function objectErrors(value: JsonObject, schema: JsonSchema, path: string, correlation: Correlation | undefined): FieldError[] {
  const { required: names = [], minProperties, maxProperties } = schema;
  const count = Object.keys(value).length;
  const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
  const errors: FieldError[] = [];
  if (minProperties !== undefined && count < minProperties)
    errors.push(invalidValue(path, value, `${body(path)} should have at least ${minProperties} properties`));
  if (maxProperties !== undefined && count > maxProperties) errors.push(tooMany(path, count, maxProperties));
  for (const name of names) if (!Object.hasOwn(value, name)) errors.push(required(at(name)));
  for (const [name, member] of Object.entries(value)) {
    const property = memberSchema(schema, name);
    // Metadata and type are validated for every kind elsewhere.
    if (path === "" && (name === "metadata" || name === "kind" || name === "apiVersion")) continue;
    if (property !== undefined) errors.push(...valueErrors(member, property, at(name), correlation?.key(name)));
  }
  return errors;
}

function combinedErrors(value: JsonValue, { allOf = [], anyOf, oneOf, not }: JsonSchema, path: string): FieldError[] {
  const isValid = (schema: JsonSchema): boolean => valueErrors(value, schema, path).length === 0;
  const errors = allOf.flatMap((schema) => valueErrors(value, schema, path));
  const quote = (problem: string): FieldError => invalidValue(path, value, problem);
  if (anyOf !== undefined && !anyOf.some(isValid)) errors.push(quote(`${body(path)} must validate at least one schema (anyOf)`));
  if (oneOf !== undefined) {
    const count = oneOf.filter(isValid).length;
    if (count !== 1)
      errors.push(
        quote(`${body(path)} must validate one and only one schema (oneOf). Found ${count === 0 ? "none" : String(count)} valid`),
      );
  }
  if (not !== undefined && isValid(not)) errors.push(quote(`${body(path)} must not validate the schema (not)`));
  return errors;
}
