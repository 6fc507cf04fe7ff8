import { ownValue } from "@virtual-kubelet/kubernetes";
import { isJsonObject, type JsonValue, sortedText } from "../json/json-value.ts";
import type { FieldError } from "../kinds/kind.ts";
import { duplicate } from "../kinds/validation/field-errors.ts";
import type { JsonSchema } from "./crd-fields.ts";
import { memberSchema } from "./prune-and-default.ts";

/**
 * Finds items that occur twice in sets, and keys that occur twice in lists with keys.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/listtype/validation.go.
 *
 * @param path - such as `spec.ports`; empty at the root
 */
export function listTypeErrors(value: JsonValue, schema: JsonSchema, path: string): FieldError[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    const inside = items === undefined ? [] : value.flatMap((item, index) => listTypeErrors(item, items, `${path}[${index}]`));
    return [...duplicateErrors(value, schema, path), ...inside];
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const property = memberSchema(schema, name);
    if (property === undefined) return [];
    const place = ownValue(schema.properties, name) === undefined ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`;
    return listTypeErrors(member, property, place);
  });
}

function duplicateErrors(value: readonly JsonValue[], schema: JsonSchema, path: string): FieldError[] {
  const listType = schema["x-kubernetes-list-type"];
  if (listType !== "set" && listType !== "map") return [];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const keyOf = (item: JsonValue): JsonValue =>
    listType === "map" && isJsonObject(item)
      ? Object.fromEntries(keys.flatMap((key) => (item[key] === undefined ? [] : [[key, item[key]]])))
      : item;
  const seen = new Set<string>();
  return value.flatMap((item, index) => {
    const key = keyOf(item);
    const text = sortedText(key);
    const isKnown = seen.has(text);
    seen.add(text);
    return isKnown ? [duplicate(`${path}[${index}]`, key)] : [];
  });
}
