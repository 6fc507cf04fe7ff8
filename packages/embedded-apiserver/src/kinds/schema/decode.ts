import { goJsonType, goJsonTypeWithDigits } from "../../json/go-json.ts";
import { InexactIntegerError } from "../../json/exact-json.ts";
import { isJsonObject, parseQuantity, quantityProblem } from "@virtual-kubelet/kubernetes";
import { base64Problem } from "../../json/go-base64.ts";
import { type FieldSchema, jsonSchemaDefinition, structSchema, type StructSchema, type TypeSchema } from "./schema.ts";
import { canonicalMicroTime, canonicalTime } from "./time.ts";
import { writtenQuantity } from "./written-quantity.ts";

/** A decoded object, and the fields of its source that the type does not have. */
export interface Decoded {
  /** New object as the server would write it: without unknown fields, nulls and empty values, and with canonical quantities. */
  readonly object: Record<string, unknown>;
  /** Paths of unknown fields, such as `spec.containers[0].Image`, in order. */
  readonly unknownFields: readonly string[];
}

/** The value does not have the type's shape. The message is that of Go's JSON decoder. */
export class DecodeError extends Error {
  /** @param message - such as `json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string` */
  constructor(message: string) {
    super(message);
    this.name = "DecodeError";
  }
}

/**
 * Decodes a JSON value as the API server does, into the form in which it is stored and sent.
 *
 * @param definition - such as `io.k8s.api.core.v1.Pod`
 * @throws DecodeError if a field has the wrong type
 * @throws InexactIntegerError
 */
export function decode(definition: string, value: unknown): Decoded {
  return decodeStruct(structSchema(definition), value);
}

/** Like {@link decode}, with a schema that is not part of the OpenAPI documents. @throws DecodeError */
export function decodeStruct(schema: StructSchema, value: unknown): Decoded {
  const decoder = new Decoder();
  const place: Place = { struct: undefined, goPath: "", path: "" };
  if (!isJsonObject(value)) throw new DecodeError(wrongType(schema, value, place));
  const object = decoder.struct(schema, value, place);
  // Go's decoder continues after a wrong type and reports the first one, but stops at an invalid string.
  if (decoder.typeProblem !== undefined) throw new DecodeError(decoder.typeProblem);
  return { object, unknownFields: decoder.unknownFields };
}

/** Place of a value in an object. */
export interface Place {
  /** Struct of the decoded field. */
  readonly struct: StructSchema | undefined;
  /** Path without indexes, as in Go's errors. */
  readonly goPath: string;
  /** Path with indexes. */
  readonly path: string;
}

class Decoder {
  readonly unknownFields: string[] = [];
  typeProblem: string | undefined;

  #value(schema: TypeSchema, value: unknown, place: Place): unknown {
    switch (schema.type) {
      case "struct":
        return isJsonObject(value) ? this.struct(schema, value, place) : this.#wrongType(schema, value, place);
      case "map":
        return isJsonObject(value) ? this.#map(schema.values, value, place) : this.#wrongType(schema, value, place);
      case "array":
        return Array.isArray(value) ? this.#array(schema.items, value, place) : this.#wrongType(schema, value, place);
      case "schemaOrOther":
        return this.#schemaOrOther(value, place);
      default:
        return this.#scalar(schema, value, place);
    }
  }

  /** Unknown fields below are dropped silently, because Go has a decoder of its own here. */
  #schemaOrOther(value: unknown, place: Place): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#schemaOrOther(item, place));
    if (!isJsonObject(value)) return value;
    const inner = new Decoder();
    const object = inner.struct(structSchema(jsonSchemaDefinition), value, place);
    this.typeProblem ??= inner.typeProblem;
    return object;
  }

  #scalar(schema: ScalarSchema, value: unknown, place: Place): unknown {
    if (schema.type === "any") return structuredClone(value);
    if (schema.type === "quantity") return canonicalQuantity(value);
    if (typeof value === "bigint") return this.#bigInteger(schema, value, place);
    if (!hasJsonType(schema, value)) return this.#wrongType(schema, value, place);
    switch (schema.type) {
      case "bytes":
        return canonicalBase64(String(value));
      case "time":
        return orThrow(canonicalTime(String(value)));
      case "microTime":
        return orThrow(canonicalMicroTime(String(value)));
      default:
        return value;
    }
  }

  /** The controllers calculate with numbers. */
  #bigInteger(schema: ScalarSchema, value: bigint, place: Place): number | undefined {
    if (schema.type === "number") return Number(value);
    if (schema.type === "integer" && schema.bits === 64) throw new InexactIntegerError(place.path, String(value));
    this.#wrongType(schema, value, place);
    return undefined;
  }

  struct(schema: StructSchema, value: Record<string, unknown>, place: Place): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const [name, child] of Object.entries(value)) {
      const field = schema.fields.get(name);
      const path = place.path === "" ? name : `${place.path}.${name}`;
      if (field === undefined) {
        this.unknownFields.push(path);
        continue;
      }
      if (child === null || child === undefined) continue;
      const decoded = this.#value(field.schema, child, {
        struct: schema,
        goPath: place.goPath === "" ? name : `${place.goPath}.${name}`,
        path,
      });
      if (decoded !== undefined && (field.isPointer || field.isAlwaysWritten || !isEmpty(decoded))) result[name] = decoded;
    }
    for (const [name, field] of schema.fields) {
      if (field.isAlwaysWritten && result[name] === undefined) result[name] = this.#emptyValue(field, place);
    }
    return result;
  }

  /** Value that Go writes for an absent field. */
  #emptyValue({ schema, isPointer }: FieldSchema, place: Place): unknown {
    if (isPointer) return null;
    switch (schema.type) {
      case "struct":
        return this.struct(schema, {}, place);
      case "string":
        return "";
      case "integer":
      case "number":
      case "intOrString":
        return 0;
      case "boolean":
        return false;
      case "quantity":
        return "0";
      default:
        return null;
    }
  }

  #map(values: TypeSchema, value: Record<string, unknown>, place: Place): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const [key, child] of Object.entries(value)) {
      const decoded = child === null ? nullItem(values) : this.#value(values, child, { ...place, path: `${place.path}.${key}` });
      // An assignment to this key would change the prototype.
      if (key === "__proto__") Object.defineProperty(result, key, { value: decoded, enumerable: true, configurable: true, writable: true });
      else result[key] = decoded;
    }
    return result;
  }

  #array(items: TypeSchema, value: readonly unknown[], place: Place): unknown[] {
    return value.map((child, index) => this.#value(items, child ?? nullItem(items), { ...place, path: `${place.path}[${index}]` }));
  }

  #wrongType(schema: TypeSchema, value: unknown, place: Place): undefined {
    this.typeProblem ??= wrongType(schema, value, place);
    return undefined;
  }
}

type ScalarSchema = Exclude<TypeSchema, { type: "struct" | "map" | "array" | "schemaOrOther" }>;

function hasJsonType(schema: ScalarSchema, value: unknown): boolean {
  switch (schema.type) {
    case "integer":
      return isInteger(value, schema.bits);
    case "intOrString":
      return typeof value === "string" || isInteger(value, 32);
    case "number":
    case "boolean":
      return typeof value === schema.type;
    default:
      return typeof value === "string";
  }
}

function isInteger(value: unknown, bits: 32 | 64): boolean {
  const limit = 2 ** (bits - 1);
  return Number.isInteger(value) && Number(value) >= -limit && Number(value) < limit;
}

function wrongType(schema: TypeSchema, value: unknown, place: Place): string {
  return typeProblem(schema, jsonTypeName(schema, value), place);
}

/** Problem with a value, in the words of Go's decoder. @param given - such as `string` or `number 1.5` */
export function typeProblem(schema: TypeSchema, given: string, { struct, goPath }: Omit<Place, "path">): string {
  const goType = goTypeName(schema);
  const target =
    struct === undefined ? `value of type ${goType}` : `struct field ${shortName(struct.definition)}.${goPath} of type ${goType}`;
  return `json: cannot unmarshal ${given} into Go ${target}`;
}

function nullItem(schema: TypeSchema): unknown {
  switch (schema.type) {
    case "struct":
    case "map":
      return {};
    case "string":
    case "bytes":
      return "";
    case "integer":
    case "number":
    case "intOrString":
      return 0;
    case "boolean":
      return false;
    case "quantity":
      return "0";
    case "array":
      return [];
    default:
      return null;
  }
}

function canonicalQuantity(value: unknown): string {
  const text = typeof value === "number" || typeof value === "bigint" ? String(value) : value;
  const trimmed = typeof text === "string" ? text.trim() : text;
  const problem = quantityProblem(trimmed);
  if (problem !== undefined) throw new DecodeError(problem);
  return writtenQuantity(String(trimmed), parseQuantity(String(trimmed)));
}

function canonicalBase64(text: string): string {
  const problem = base64Problem(text, "standard");
  if (problem !== undefined) throw new DecodeError(problem);
  return Buffer.from(text, "base64").toString("base64");
}

function orThrow(text: { text: string } | { problem: string }): string {
  if ("problem" in text) throw new DecodeError(text.problem);
  return text.text;
}

/** Go omits zero values except structs. */
function isEmpty(value: unknown): boolean {
  if (value === "" || value === 0 || value === false) return true;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function shortName(definition: string): string {
  return definition.slice(definition.lastIndexOf(".") + 1);
}

function goTypeName(schema: TypeSchema): string {
  if ("goType" in schema && schema.goType !== undefined) return schema.goType;
  switch (schema.type) {
    case "struct":
      return `${schema.definition.split(".").at(-2) ?? "v1"}.${shortName(schema.definition)}`;
    case "map":
      return `map[string]${goTypeName(schema.values)}`;
    case "array":
      return `[]${goTypeName(schema.items)}`;
    case "integer":
      return `int${schema.bits}`;
    case "intOrString":
      return "int32";
    case "boolean":
      return "bool";
    case "number":
      return "float64";
    case "bytes":
      return "[]uint8";
    case "time":
    case "microTime":
    case "quantity":
    case "string":
    case "any":
    case "schemaOrOther":
      return "string";
  }
}

function jsonTypeName(schema: TypeSchema, value: unknown): string {
  return schema.type === "integer" || schema.type === "intOrString" ? goJsonTypeWithDigits(value) : goJsonType(value);
}
