import type { JsonValue } from "../json/json-value.ts";
import { GoValue } from "./go-value.ts";
import { once } from "../kinds/schema/once.ts";
import { type OpenApiSchema, openApiDefinitions, referredDefinition } from "../kinds/schema/schema.ts";

/**
 * How values are compared and merged. A type allows up to three kinds of values; a value decides which of them applies.
 *
 * Source of this file: k8s.io/kube-openapi pkg/schemaconv and sigs.k8s.io/structured-merge-diff/v6 v6.3.3 schema/elements.go.
 */
export interface MergeType {
  readonly scalar?: "numeric" | "string" | "boolean" | "untyped";
  readonly list?: ListType;
  readonly map?: MapType;
}

/** A list. */
export interface ListType {
  /** Whether the list has one owner as a whole. */
  readonly isAtomic: boolean;
  /** Fields that identify an item; empty for a set, whose items are identified by their values. */
  readonly keys: readonly string[];
  readonly items: () => MergeType;
}

/** An object: a struct, whose fields are declared, or a map. */
export interface MapType {
  /** Whether the object has one owner as a whole. */
  readonly isAtomic: boolean;
  readonly field: (name: string) => FieldType | undefined;
  /** Type of fields that are not declared; `undefined` if there must be none. */
  readonly others: (() => MergeType) | undefined;
}

/** A declared field. */
interface FieldType {
  readonly type: () => MergeType;
  /** Value of an absent field that is a key of a list item. */
  readonly default: JsonValue | undefined;
}

/** Any value, which has one owner as a whole. */
const untyped: MergeType = {
  scalar: "untyped",
  list: { isAtomic: true, keys: [], items: () => untyped },
  map: { isAtomic: true, field: () => undefined, others: () => untyped },
};

/** Any value: each field of an object has its owner, but a list has one owner as a whole. */
const deducedType: MergeType = {
  scalar: "untyped",
  list: { isAtomic: true, keys: [], items: () => untyped },
  map: { isAtomic: false, field: () => undefined, others: () => deducedType },
};

/** Types whose OpenAPI schema does not say how they are merged. */
const namedTypes: Readonly<Record<string, MergeType>> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": { scalar: "untyped" },
  "io.k8s.apimachinery.pkg.runtime.RawExtension": untyped,
};

const definitions = new Map<string, MergeType>();

/**
 * Type of a definition such as `io.k8s.api.core.v1.Pod`.
 *
 * @throws RangeError if the definition does not exist
 */
export function mergeTypeOf(definition: string): MergeType {
  const known = namedTypes[definition] ?? definitions.get(definition);
  if (known !== undefined) return known;
  const schema = openApiDefinitions()[definition];
  if (schema === undefined) throw new RangeError(`look up the merge type of ${definition}: the OpenAPI data has no such definition`);
  const type = mergeTypeOfSchema(schema);
  definitions.set(definition, type);
  return type;
}

/** Type of a schema of an OpenAPI document, or of a custom resource. */
export function mergeTypeOfSchema(schema: OpenApiSchema, preservesUnknown = false): MergeType {
  const preserves = preservesUnknown || schema["x-kubernetes-preserve-unknown-fields"] === true;
  switch (schema.type) {
    case undefined:
      return { scalar: "untyped", list: listType(schema, preserves), map: mapType(schema, preserves) };
    case "object":
      return { map: mapType(schema, preserves) };
    case "array":
      return { list: listType(schema, preserves) };
    case "integer":
    case "number":
      return { scalar: "numeric" };
    case "boolean":
      return { scalar: "boolean" };
    default:
      return { scalar: schema.type === "string" && (schema.format === undefined || schema.format === "byte") ? "string" : "untyped" };
  }
}

function referredType(schema: OpenApiSchema, preserves: boolean): MergeType {
  const definition = referredDefinition(schema);
  if (definition === undefined) return mergeTypeOfSchema(schema, preserves);
  const type = mergeTypeOf(definition);
  const mapKind = schema["x-kubernetes-map-type"];
  if (mapKind === undefined || type.map === undefined) return type;
  return { ...type, map: { ...type.map, isAtomic: mapKind === "atomic" } };
}

function listType(schema: OpenApiSchema, preserves: boolean): ListType {
  const { items } = schema;
  return { ...relationshipOf(schema), items: once(() => (items === undefined ? untyped : referredType(items, preserves))) };
}

function relationshipOf(schema: OpenApiSchema): Pick<ListType, "isAtomic" | "keys"> {
  const listKind = schema["x-kubernetes-list-type"];
  if (listKind !== undefined)
    return { isAtomic: listKind === "atomic", keys: listKind === "map" ? (schema["x-kubernetes-list-map-keys"] ?? []) : [] };
  const isMerged = schema["x-kubernetes-patch-strategy"]?.split(",")[0] === "merge";
  const key = schema["x-kubernetes-patch-merge-key"];
  return { isAtomic: !isMerged, keys: isMerged && key !== undefined ? [key] : [] };
}

function mapType(schema: OpenApiSchema, preserves: boolean): MapType {
  const fields = new Map<string, FieldType>();
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    fields.set(name, { type: once(() => referredType(property, preserves)), default: property.default });
  return {
    isAtomic: schema["x-kubernetes-map-type"] === "atomic",
    field: (name) => fields.get(name),
    others: othersOf(schema, preserves, fields.size === 0),
  };
}

function othersOf({ additionalProperties }: OpenApiSchema, preserves: boolean, isFreeForm: boolean): MapType["others"] {
  if (additionalProperties === undefined) return preserves || isFreeForm ? () => deducedType : undefined;
  if (typeof additionalProperties === "boolean") return additionalProperties ? () => deducedType : undefined;
  return once(() => referredType(additionalProperties, preserves));
}

/** Type of a field of an object; `undefined` if it must not exist. */
export function typeOfField({ field, others }: MapType, name: string): MergeType | undefined {
  return field(name)?.type() ?? others?.();
}

/** The part of a type that a value of this kind has; the whole type for null and absent values. */
export function typeOfValue(type: MergeType, value: JsonValue | undefined): MergeType {
  if (value === undefined || value === null || value instanceof GoValue) return type;
  if (Array.isArray(value)) return type.list === undefined ? type : { list: type.list };
  if (typeof value === "object") return type.map === undefined ? type : { map: type.map };
  return type.scalar === undefined ? type : { scalar: type.scalar };
}
