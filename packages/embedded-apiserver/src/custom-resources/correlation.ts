import { ownValue } from "@virtual-kubelet/kubernetes";
import { equalJson, isJsonObject, type JsonObject, type JsonValue, sortedText } from "../json/json-value.ts";
import type { JsonSchema } from "./crd-fields.ts";

/**
 * A value of an updated object beside the old value at the same place. Items of lists have one only if the list has keys.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/cel/common/equality.go, `CorrelatedObject`.
 */
export class Correlation {
  readonly value: JsonValue;
  readonly old: JsonValue;
  readonly #schema: JsonSchema;
  readonly #children = new Map<string | number, Correlation | undefined>();
  #oldItems: ReadonlyMap<string, JsonValue> | undefined;
  #equal: boolean | undefined;

  constructor(value: JsonValue, old: JsonValue, schema: JsonSchema) {
    this.value = value;
    this.old = old;
    this.#schema = schema;
  }

  /** Whether the value is unchanged. The order of lists with keys does not matter. */
  get isEqual(): boolean {
    this.#equal ??= this.#compare();
    return this.#equal;
  }

  /** A field of the object; `undefined` if it is new or has no schema. */
  key(name: string): Correlation | undefined {
    return this.#child(name, () => {
      if (!isJsonObject(this.value) || !isJsonObject(this.old)) return undefined;
      const { properties = {}, additionalProperties } = this.#schema;
      const schema = ownValue(properties, name) ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);
      const [value, old] = [ownValue(this.value, name), ownValue(this.old, name)];
      return schema === undefined || value === undefined || old === undefined ? undefined : new Correlation(value, old, schema);
    });
  }

  /** An item of the list; `undefined` if there was none with its keys. */
  index(index: number): Correlation | undefined {
    return this.#child(index, () => {
      const { items } = this.#schema;
      if (items === undefined || !Array.isArray(this.value) || !Array.isArray(this.old)) return undefined;
      const value = this.value[index];
      const old = value === undefined ? undefined : this.#oldItem(this.old, value);
      return value === undefined || old === undefined || old === null ? undefined : new Correlation(value, old, items);
    });
  }

  /** Like {@link oldItem}, with an index of the old list, which may be long. */
  #oldItem(old: readonly JsonValue[], item: JsonValue): JsonValue | undefined {
    if (this.#schema["x-kubernetes-list-type"] !== "map" || !isJsonObject<JsonValue>(item)) return undefined;
    this.#oldItems ??= itemsByKeys(this.#schema, old);
    return this.#oldItems.get(keysText(this.#schema, item));
  }

  #child(place: string | number, create: () => Correlation | undefined): Correlation | undefined {
    if (!this.#children.has(place)) this.#children.set(place, create());
    return this.#children.get(place);
  }

  #compare(): boolean {
    const { value, old } = this;
    if (Array.isArray(value) && Array.isArray(old)) {
      if (this.#schema["x-kubernetes-list-type"] !== "map") return equalJson(value, old);
      return value.length === old.length && value.every((_, index) => this.index(index)?.isEqual === true);
    }
    if (!isJsonObject(value) || !isJsonObject(old)) return equalJson(value, old);
    const keys = Object.keys(value);
    return keys.length === Object.keys(old).length && keys.every((key) => this.key(key)?.isEqual ?? false);
  }
}

/** Item of an old list with the same keys as an item of the new one; only lists with keys have one. */
export function oldItem(schema: JsonSchema, old: readonly JsonValue[], item: JsonValue): JsonValue | undefined {
  if (schema["x-kubernetes-list-type"] !== "map" || !isJsonObject(item)) return undefined;
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  return old.find((other) => isJsonObject(other) && keys.every((key) => equalJson(other[key], item[key])));
}

/** The first item of each key. */
function itemsByKeys(schema: JsonSchema, items: readonly JsonValue[]): ReadonlyMap<string, JsonValue> {
  const found = new Map<string, JsonValue>();
  for (const item of items) {
    const text = isJsonObject<JsonValue>(item) ? keysText(schema, item) : undefined;
    if (text !== undefined && !found.has(text)) found.set(text, item);
  }
  return found;
}

function keysText(schema: JsonSchema, item: JsonObject): string {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  return keys.map((key) => (item[key] === undefined ? "-" : sortedText(item[key]))).join();
}
