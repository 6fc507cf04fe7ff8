import { goJsonType, goJsonTypeWithDigits } from "../../json/go-json.ts";
import { isJsonObject, type JsonValue } from "../../json/json-value.ts";
import { structSchema, type StructSchema, type TypeSchema } from "./schema.ts";

/**
 * First problem with the types of an object that a strategic merge patch has made, in the words of Go's converter from unstructured objects. Named
 * types, such as `v1.Protocol`, are shown as their basic type.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/runtime/converter.go, `fromUnstructured`.
 *
 * @param definition - such as `io.k8s.api.core.v1.Pod`
 * @param decoderProblem - of the JSON decoder, which also reads the values of types that Go converts by themselves
 */
export function unstructuredProblem(definition: string, value: JsonValue, decoderProblem: string): string {
  const problem = problemOf(structSchema(definition), value);
  if (problem !== undefined) return problem;
  return decoderProblem.startsWith("illegal base64 data") ? `error decoding from json: ${decoderProblem}` : decoderProblem;
}

function problemOf(schema: TypeSchema, value: JsonValue): string | undefined {
  if (value === null) return undefined;
  switch (schema.type) {
    case "struct":
      return isJsonObject<JsonValue>(value) ? structProblem(schema, value) : `cannot restore struct from: ${kindOf(value)}`;
    case "map":
      if (!isJsonObject<JsonValue>(value)) return `cannot restore map from ${kindOf(value)}`;
      return firstProblem(Object.values(value), schema.values);
    case "array":
      return Array.isArray(value) ? firstProblem(value, schema.items) : `cannot restore slice from ${kindOf(value)}`;
    default:
      return scalarProblem(schema, value);
  }
}

type ScalarSchema = Exclude<TypeSchema, { type: "struct" | "map" | "array" }>;

function scalarProblem(schema: ScalarSchema, value: JsonValue): string | undefined {
  switch (schema.type) {
    case "bytes":
      return typeof value === "string" ? undefined : `cannot restore slice from ${kindOf(value)}`;
    case "string":
      return typeof value === "string" ? undefined : simpleProblem(value, "string", kindOf(value) === "int64");
    case "boolean":
      return typeof value === "boolean" ? undefined : simpleProblem(value, "bool", false);
    case "integer":
      return Number.isInteger(value) ? undefined : simpleProblem(value, `int${String(schema.bits)}`, typeof value === "number");
    case "number":
      return typeof value === "number" ? undefined : simpleProblem(value, "float64", false);
    case "time":
    case "microTime":
      return typeof value === "string" ? undefined : jsonProblem(value, "string");
    case "intOrString":
      return typeof value === "string" || Number.isInteger(value) ? undefined : jsonProblem(value, "int32");
    default:
      return undefined;
  }
}

function structProblem(schema: StructSchema, value: Readonly<Record<string, JsonValue>>): string | undefined {
  for (const [name, field] of schema.fields) {
    const problem = problemOf(field.schema, value[name] ?? null);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function firstProblem(values: readonly JsonValue[], schema: TypeSchema): string | undefined {
  for (const value of values) {
    const problem = problemOf(schema, value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** @param isConvertible - whether Go could convert the type, which is refused with other words */
function simpleProblem(value: JsonValue, wanted: string, isConvertible: boolean): string {
  return isConvertible ? `cannot convert ${kindOf(value)} to ${wanted}` : `unrecognized type: ${wanted}`;
}

function jsonProblem(value: JsonValue, wanted: string): string {
  const given = wanted === "string" ? goJsonType(value) : goJsonTypeWithDigits(value);
  return `json: cannot unmarshal ${given} into Go value of type ${wanted}`;
}

function kindOf(value: JsonValue): string {
  if (Array.isArray(value)) return "slice";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  if (typeof value === "boolean") return "bool";
  return typeof value === "string" ? "string" : "map";
}
