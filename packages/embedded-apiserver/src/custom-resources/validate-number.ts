import type { JsonValue } from "../json/json-value.ts";
import type { FieldError } from "../kinds/kind.ts";
import { invalidValue } from "../kinds/validation/field-errors.ts";
import type { JsonSchema } from "./crd-fields.ts";
import { schemaFormat } from "./formats.ts";

const bounds = { multipleOf: "MultipleOf", maximum: "Maximum boundary", minimum: "Minimum boundary" } as const;

/** Whether Go reads a number as an integer: one beyond 64 bits is floating point. */
export function isInteger(value: JsonValue): boolean {
  return typeof value === "bigint" || (Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 63);
}

/**
 * Errors of a number, by the limits of its schema. An integer is compared with the integral part of a limit, as on the real server.
 *
 * Source: k8s.io/kube-openapi pkg/validation/validate, `numberValidator` of validator.go and values.go.
 *
 * @param path - such as `spec.replicas`
 */
export function numberErrors(value: number | bigint, schema: JsonSchema, path: string): FieldError[] {
  return [
    ...rangeErrors(value, schema, "Checked", path),
    ...multipleErrors(value, schema, path),
    ...boundErrors(value, schema, path, "minimum"),
    ...boundErrors(value, schema, path, "maximum"),
  ];
}

/** Whether a number fits the type and format; the error names no field. */
function rangeErrors(value: number | bigint, schema: JsonSchema, what: string, path: string): FieldError[] {
  const { type = "" } = schema;
  const format = schemaFormat(schema);
  if (schema["x-kubernetes-int-or-string"] === true || isInRange(value, type, format)) return [];
  const written = format === "" ? "(default format)" : `with format ${format}`;
  return [invalidValue("<nil>", "", `${what} value must be of type ${type} ${written} in ${path}`)];
}

function isInRange(value: number | bigint, type: string, format: string): boolean {
  if (type === "integer") return isInteger(value) && (format !== "int32" || (value >= -(2 ** 31) && value <= 2 ** 31 - 1));
  return type !== "number" || format !== "float" || Number.isFinite(Math.fround(Number(value)));
}

function multipleErrors(value: number | bigint, schema: JsonSchema, path: string): FieldError[] {
  const { multipleOf } = schema;
  if (multipleOf === undefined) return [];
  const range = rangeErrors(multipleOf, schema, bounds.multipleOf, path);
  const isIntegral = range.length === 0 && isInteger(value);
  const factor = isIntegral ? Math.trunc(multipleOf) : multipleOf;
  if (factor <= 0) return [...range, invalidValue(path, factor, `factor MultipleOf declared for ${path} must be positive: ${factor}`)];
  const isMultiple = isIntegral ? BigInt(value) % BigInt(factor) === 0n : isNearInteger(quotient(Number(value), factor));
  return isMultiple ? range : [...range, invalidValue(path, value, `${path} in body should be a multiple of ${factor}`)];
}

function quotient(value: number, factor: number): number {
  return factor < 1 ? (1 / factor) * value : value / factor;
}

/** Source: github.com/go-openapi/swag, `IsFloat64AJSONInteger`. */
function isNearInteger(value: number): boolean {
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  const whole = Math.trunc(value);
  return whole === value || (whole > 0 && (value - whole) / (value + whole) < 1e-9);
}

function boundErrors(value: number | bigint, schema: JsonSchema, path: string, name: "minimum" | "maximum"): FieldError[] {
  const bound = schema[name];
  if (bound === undefined) return [];
  const range = rangeErrors(bound, schema, bounds[name], path);
  const limit = range.length === 0 && isInteger(value) ? Math.trunc(bound) : bound;
  const isExclusive = (name === "minimum" ? schema.exclusiveMinimum : schema.exclusiveMaximum) === true;
  const [high, low] = name === "minimum" ? [value, limit] : [limit, value];
  if (isExclusive ? high > low : high >= low) return range;
  const relation = `${name === "minimum" ? "greater" : "less"} than ${isExclusive ? "" : "or equal to "}`;
  return [...range, invalidValue(path, value, `${path} in body should be ${relation}${limit}`)];
}
