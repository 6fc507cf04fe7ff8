import { isJsonObject } from "../json/json-value.ts";
import { ArrayList, CelMap, type Value } from "./values.ts";

/**
 * Value of JSON without a schema: whole numbers are `int`, others `double`. Objects are converted as they are read.
 *
 * Source: github.com/google/cel-go v0.26.0 common/types/provider.go, `NativeToValue`, and how k8s.io/apimachinery reads JSON.
 */
export function jsonValue(json: unknown): Value {
  if (typeof json === "number") return Number.isInteger(json) ? BigInt(json) : json;
  if (typeof json === "string" || typeof json === "boolean" || typeof json === "bigint") return json;
  if (Array.isArray(json)) return new JsonList(json.map(jsonValue));
  return isJsonObject(json) ? new JsonMap(json) : null;
}

/** A list of JSON, as opposed to one that an expression has written. */
export class JsonList extends ArrayList {}

/** A JSON object as a map. Members that are `undefined` are absent. */
export class JsonMap extends CelMap {
  readonly #json: Readonly<Record<string, unknown>>;

  constructor(json: Readonly<Record<string, unknown>>) {
    super();
    this.#json = json;
  }

  get json(): Readonly<Record<string, unknown>> {
    return this.#json;
  }

  get size(): number {
    return [...this.keys()].length;
  }

  get(key: Value): Value | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.#json, key)) return undefined;
    const member = this.#json[key];
    return member === undefined ? undefined : jsonValue(member);
  }

  *keys(): Iterable<Value> {
    for (const [key, member] of Object.entries(this.#json)) if (member !== undefined) yield key;
  }
}
