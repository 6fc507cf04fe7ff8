import { ownValue } from "@virtual-kubelet/kubernetes";
import type { JsonSchema } from "../custom-resources/crd-fields.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { escapeProperty, unescapeProperty } from "./escape.ts";
import { parseDuration, parseTimestamp } from "./functions/time.ts";
import { withObjectMeta } from "./schema-types.ts";
import { CelDuration, CelList, CelMap, CelTimestamp, equalValues, EvaluationError, Opaque, type Value } from "./values.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/cel/common/valuesunstructured.go. */

/**
 * Value of JSON with a schema. Members of objects and lists are converted when they are read.
 *
 * @throws EvaluationError if the value does not have the schema's type
 */
export function schemaValue(json: JsonValue, schema: JsonSchema): Value {
  if (json === null) {
    if (schema.nullable === true) return null;
    throw new EvaluationError("invalid data, got null for schema with nullable=false");
  }
  if (schema["x-kubernetes-int-or-string"] === true) return intOrString(json);
  switch (schema.type) {
    case "object":
      if (!isJsonObject(json)) throw new EvaluationError("invalid data, expected a map for the provided schema with type=object");
      return new SchemaObject(json, schema["x-kubernetes-embedded-resource"] === true ? withObjectMeta(schema) : schema);
    case "array":
      return listValue(json, schema);
    case "string":
      return textValue(json, schema.format);
    case "number":
      if (typeof json !== "number" && typeof json !== "bigint") throw wrongType("float", json);
      return Number(json);
    case "integer":
      if (typeof json === "bigint") return json;
      if (typeof json !== "number" || !Number.isInteger(json)) throw wrongType("int", json);
      return BigInt(json);
    case "boolean":
      if (typeof json !== "boolean") throw wrongType("bool", json);
      return json;
    default:
      return new UnknownValue(json);
  }
}

function wrongType(expected: string, json: unknown): EvaluationError {
  return new EvaluationError(`invalid data, expected ${expected}, got ${goType(json)}`);
}

/** Name of the type that Go has for JSON. */
function goType(json: unknown): string {
  if (Array.isArray(json)) return "[]interface {}";
  switch (typeof json) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "number":
      return Number.isInteger(json) ? "int64" : "float64";
    case "bigint":
      return "int64";
    default:
      return "map[string]interface {}";
  }
}

function intOrString(json: JsonValue): Value {
  if (typeof json === "string" || typeof json === "bigint") return json;
  if (typeof json === "number" && Number.isInteger(json)) return BigInt(json);
  throw new EvaluationError("invalid data, expected XIntOrString value to be either a string or integer");
}

function listValue(json: JsonValue, schema: JsonSchema): CelList {
  if (!Array.isArray(json)) throw new EvaluationError("invalid data, expected an array for the provided schema with type=array");
  const { items } = schema;
  if (items === undefined) throw new EvaluationError("invalid array type, expected Items with a non-empty Schema");
  switch (schema["x-kubernetes-list-type"]) {
    case "map":
      return new MapList(json, items, schema["x-kubernetes-list-map-keys"] ?? []);
    case "set":
      return new SetList(json, items);
    default:
      return new SchemaList(json, items);
  }
}

function textValue(json: JsonValue, format: string | undefined): Value {
  if (typeof json !== "string") throw wrongType("string", json);
  switch (format) {
    case "duration":
      return durationValue(json);
    case "date":
      return dateValue(json, `Invalid date formatted string ${json}`, `${json}T00:00:00Z`);
    case "date-time":
      return dateValue(json, `Invalid date-time formatted string ${json}`, json.replace(/^(\S+)[ t]/, "$1T").replace(/z$/, "Z"));
    case "byte":
      return Buffer.from(json, "base64");
    default:
      return json;
  }
}

function dateValue(_json: string, problem: string, text: string): CelTimestamp {
  try {
    return parseTimestamp(text);
  } catch (error) {
    throw new EvaluationError(`${problem}: ${error instanceof Error ? error.message : ""}`);
  }
}

const longUnits: Readonly<Record<string, number>> = {
  nanosecond: 1,
  microsecond: 1e3,
  millisecond: 1e6,
  second: 1e9,
  minute: 60e9,
  hour: 3600e9,
  day: 86_400e9,
  week: 604_800e9,
};

/** Durations of Go, and those such as `2 days`. Source: k8s.io/kube-openapi pkg/validation/strfmt/duration.go. */
function durationValue(text: string): CelDuration {
  try {
    return parseDuration(text);
  } catch (error) {
    const [, amount = "", unit = ""] = /^(\d+)\s*([A-Za-zµ]+)$/.exec(text.trim()) ?? [];
    const name = unit === "d" || unit === "w" ? { d: "day", w: "week" }[unit] : unit.replace(/s$/, "");
    const nanoseconds = longUnits[name ?? ""];
    if (nanoseconds !== undefined) return new CelDuration(BigInt(amount) * BigInt(nanoseconds));
    throw new EvaluationError(`Invalid duration ${text}: ${error instanceof Error ? error.message : ""}`);
  }
}

/** A value without a known type; it can only be compared. */
class UnknownValue extends Opaque {
  readonly typeName = "unknown";
  readonly json: unknown;

  constructor(json: unknown) {
    super();
    this.json = json;
  }

  override equals(other: Value): boolean {
    return other instanceof UnknownValue && equalJson(this.json, other.json);
  }
}

/** A list of values with a schema. */
class SchemaList extends CelList {
  readonly json: readonly JsonValue[];
  readonly items: JsonSchema;

  constructor(json: readonly JsonValue[], items: JsonSchema) {
    super();
    this.json = json;
    this.items = items;
  }

  get size(): number {
    return this.json.length;
  }

  at(index: number): Value {
    return schemaValue(this.json[index] ?? null, this.items);
  }
}

/** A list with `x-kubernetes-list-type: set`: the order does not matter. */
class SetList extends SchemaList {
  override equals(other: CelList): boolean {
    if (this.size !== other.size) return false;
    const mine = [...this];
    return [...other].every((item) => mine.some((one) => equalValues(one, item)));
  }

  override add(other: CelList): CelList {
    const added = [...this];
    for (const item of other) if (!added.some((one) => equalValues(one, item))) added.push(item);
    return new MergedList(added, (merged) => merged.equals(this));
  }
}

/** A list with `x-kubernetes-list-type: map`: elements are identified by keys, and the order does not matter. */
class MapList extends SchemaList {
  readonly #keys: readonly string[];

  constructor(json: readonly JsonValue[], items: JsonSchema, keys: readonly string[]) {
    super(json, items);
    this.#keys = keys;
  }

  keyOf(item: Value): string {
    return JSON.stringify(
      this.#keys.map((key) => {
        const value = item instanceof CelMap ? item.get(escapeProperty(key) ?? key) : undefined;
        return typeof value === "bigint" ? `i${value}` : value;
      }),
    );
  }

  override equals(other: CelList): boolean {
    if (this.size !== other.size) return false;
    const mine = new Map(Array.from(this, (item) => [this.keyOf(item), item]));
    return [...other].every((item) => {
      const own = mine.get(this.keyOf(item));
      return own !== undefined && equalValues(own, item);
    });
  }

  override add(other: CelList): CelList {
    const merged = new Map(Array.from(this, (item) => [this.keyOf(item), item]));
    for (const item of other) merged.set(this.keyOf(item), item);
    return new MergedList([...merged.values()], () => false);
  }
}

/** Result of adding to a set or map list. */
class MergedList extends CelList {
  readonly #values: readonly Value[];

  constructor(values: readonly Value[], _isSame: (list: CelList) => boolean) {
    super();
    this.#values = values;
  }

  get size(): number {
    return this.#values.length;
  }

  at(index: number): Value {
    return this.#values[index] ?? null;
  }

  override equals(other: CelList): boolean {
    const mine = this.#values;
    return mine.length === other.size && [...other].every((item) => mine.some((one) => equalValues(one, item)));
  }
}

/** An object with fields, or a map. */
class SchemaObject extends CelMap {
  readonly json: JsonObject;
  readonly #schema: JsonSchema;

  constructor(json: JsonObject, schema: JsonSchema) {
    super();
    this.json = json;
    this.#schema = schema;
  }

  get size(): number {
    return Object.keys(this.json).length;
  }

  get #isObject(): boolean {
    return this.#schema.properties !== undefined;
  }

  #memberSchema(name: string): JsonSchema | undefined {
    const { properties, additionalProperties } = this.#schema;
    if (properties !== undefined) return ownValue(properties, name);
    return typeof additionalProperties === "object" ? additionalProperties : undefined;
  }

  get(key: Value): Value | undefined {
    if (typeof key !== "string") throw new EvaluationError("no such overload");
    const name = this.#isObject ? unescapeProperty(key) : key;
    if (name === undefined || !Object.hasOwn(this.json, name)) return undefined;
    const member = this.json[name];
    // A nullable field that is null is like an absent one.
    if (member === undefined || (this.#isObject && member === null)) return undefined;
    const schema = this.#memberSchema(name);
    return schema === undefined ? undefined : schemaValue(member, schema);
  }

  *keys(): Iterable<Value> {
    for (const name of Object.keys(this.json)) {
      if (this.#memberSchema(name) === undefined) continue;
      yield this.#isObject ? (escapeProperty(name) ?? name) : name;
    }
  }

  override equals(other: CelMap): boolean {
    if (this.size !== other.size) return false;
    for (const [name, member] of Object.entries(this.json)) {
      if (this.#memberSchema(name) === undefined) {
        if (!(other instanceof SchemaObject)) throw new EvaluationError("no such overload");
        if (Object.hasOwn(other.json, name) && !equalJson(member, other.json[name])) return false;
        continue;
      }
      const mine = this.get(name);
      const theirs = other.get(name);
      if (mine === undefined || theirs === undefined ? mine !== theirs : !equalValues(mine, theirs)) return false;
    }
    return true;
  }
}
