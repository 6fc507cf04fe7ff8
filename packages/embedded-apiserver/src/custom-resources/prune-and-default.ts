import { ownValue } from "@virtual-kubelet/kubernetes";
import { cloneJson, isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/json-value.ts";
import type { JsonSchema } from "./crd-fields.ts";

/**
 * Removes fields that are not in the schema. Modifies the value.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/pruning/algorithm.go.
 *
 * @param unknown - collects the paths of the removed fields
 */
export function prune(value: JsonValue, schema: JsonSchema, unknown: string[], path = ""): void {
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (Array.isArray(value)) {
    const items = schema.items ?? (preserves ? undefined : {});
    if (items !== undefined) for (const [index, item] of value.entries()) prune(item, items, unknown, `${path}[${index}]`);
    return;
  }
  if (!isJsonObject(value)) return;
  const { properties = {}, additionalProperties } = schema;
  for (const [name, member] of Object.entries(value)) {
    const place = path === "" ? name : `${path}.${name}`;
    if (isOfEveryObject(name, schema, path)) continue;
    const property = ownValue(properties, name);
    if (property !== undefined) prune(member, property, unknown, place);
    else if (typeof additionalProperties === "object") prune(member, additionalProperties, unknown, place);
    else if (additionalProperties !== true && !preserves) {
      delete value[name];
      unknown.push(place);
    }
  }
}

function isOfEveryObject(name: string, schema: JsonSchema, path: string): boolean {
  if (path !== "" && schema["x-kubernetes-embedded-resource"] !== true) return false;
  return name === "apiVersion" || name === "kind" || name === "metadata";
}

/**
 * Adds the defaults of missing fields. Modifies the value.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/defaulting/algorithm.go.
 */
export function applySchemaDefaults(value: JsonValue, schema: JsonSchema): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items !== undefined) for (const item of value) applySchemaDefaults(item, items);
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (property.default !== undefined && (!Object.hasOwn(value, name) || isWrongNull(value[name], property)))
      setMember(value, name, cloneJson(property.default));
  }
  for (const [name, member] of Object.entries(value)) {
    const property = memberSchema(schema, name);
    if (property !== undefined) applySchemaDefaults(member, property);
  }
}

/** Whether {@link applySchemaDefaults} can change a value of this schema. */
export function hasDefaults(schema: JsonSchema): boolean {
  const { items, properties = {}, additionalProperties } = schema;
  return (
    (items !== undefined && hasDefaults(items)) ||
    (typeof additionalProperties === "object" && hasDefaults(additionalProperties)) ||
    Object.values(properties).some((property) => property.default !== undefined || hasDefaults(property))
  );
}

/** Schema of an object's field. */
export function memberSchema({ properties = {}, additionalProperties }: JsonSchema, name: string): JsonSchema | undefined {
  return ownValue(properties, name) ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);
}

/** Removes null from fields that are not nullable. Modifies the value. Source: prunenulls.go of the same package. */
export function pruneNulls(value: JsonValue, schema: JsonSchema): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items !== undefined) for (const item of value) pruneNulls(item, items);
    return;
  }
  if (!isJsonObject(value)) return;
  dropNonNullable(value, schema);
  for (const [name, member] of Object.entries(value)) {
    const property = memberSchema(schema, name);
    if (property !== undefined) pruneNulls(member, property);
  }
}

function dropNonNullable(value: JsonObject, schema: JsonSchema): void {
  for (const [name, member] of Object.entries(value)) {
    const property = memberSchema(schema, name);
    if (property !== undefined && isWrongNull(member, property)) delete value[name];
  }
}

function isWrongNull(value: JsonValue | undefined, { nullable }: JsonSchema): boolean {
  return value === null && nullable !== true;
}
