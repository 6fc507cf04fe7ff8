import { equalJson, isJsonObject, type JsonValue } from "../json/json-value.ts";
import { byCodeUnits } from "../json/key-order.ts";
import type { CrdVersion } from "./crd-fields.ts";

/** A field of an internal Go type: its name there and in JSON, and how its value is shown. */
type Field = readonly [goName: string, name: string, show: (value: JsonValue | undefined) => JsonValue];

const orNull = (value: JsonValue | undefined): JsonValue => value ?? null;
const text = (value: JsonValue | undefined): JsonValue => value ?? "";
const flag = (value: JsonValue | undefined): JsonValue => value ?? false;
const number = (value: JsonValue | undefined): JsonValue => value ?? 0;

const schemas = (value: JsonValue | undefined): JsonValue => (Array.isArray(value) ? value.map(schemaOf) : null);
const schema = (value: JsonValue | undefined): JsonValue => (isJsonObject<JsonValue>(value) ? schemaOf(value) : null);
const schemaMap = (value: JsonValue | undefined): JsonValue => mapOf(value, schemaOf);
const schemaOrArray = (value: JsonValue | undefined): JsonValue =>
  value === undefined ? null : { Schema: schema(value), JSONSchemas: schemas(value) };
const schemaOrBool = (value: JsonValue | undefined): JsonValue =>
  value === undefined ? null : { Allows: value !== false, Schema: schema(value) };
const schemaOrStrings = (value: JsonValue): JsonValue => ({ Schema: schema(value), Property: Array.isArray(value) ? value : null });

const ruleFields: readonly Field[] = [
  ["Rule", "rule", text],
  ["Message", "message", text],
  ["MessageExpression", "messageExpression", text],
  ["Reason", "reason", orNull],
  ["FieldPath", "fieldPath", text],
  ["OptionalOldSelf", "optionalOldSelf", orNull],
];

const docsFields: readonly Field[] = [
  ["Description", "description", text],
  ["URL", "url", text],
];

/** Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apis/apiextensions/types_jsonschema.go. */
const schemaFields: readonly Field[] = [
  ["ID", "id", text],
  ["Schema", "$schema", text],
  ["Ref", "$ref", orNull],
  ["Description", "description", text],
  ["Type", "type", text],
  ["Nullable", "nullable", flag],
  ["Format", "format", text],
  ["Title", "title", text],
  ["Default", "default", orNull],
  ["Maximum", "maximum", orNull],
  ["ExclusiveMaximum", "exclusiveMaximum", flag],
  ["Minimum", "minimum", orNull],
  ["ExclusiveMinimum", "exclusiveMinimum", flag],
  ["MaxLength", "maxLength", orNull],
  ["MinLength", "minLength", orNull],
  ["Pattern", "pattern", text],
  ["MaxItems", "maxItems", orNull],
  ["MinItems", "minItems", orNull],
  ["UniqueItems", "uniqueItems", flag],
  ["MultipleOf", "multipleOf", orNull],
  ["Enum", "enum", orNull],
  ["MaxProperties", "maxProperties", orNull],
  ["MinProperties", "minProperties", orNull],
  ["Required", "required", orNull],
  ["Items", "items", schemaOrArray],
  ["AllOf", "allOf", schemas],
  ["OneOf", "oneOf", schemas],
  ["AnyOf", "anyOf", schemas],
  ["Not", "not", schema],
  ["Properties", "properties", schemaMap],
  ["AdditionalProperties", "additionalProperties", schemaOrBool],
  ["PatternProperties", "patternProperties", schemaMap],
  ["Dependencies", "dependencies", (value) => mapOf(value, schemaOrStrings)],
  ["AdditionalItems", "additionalItems", schemaOrBool],
  ["Definitions", "definitions", schemaMap],
  ["ExternalDocs", "externalDocs", (value) => structOf(docsFields, value)],
  ["Example", "example", orNull],
  ["XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", orNull],
  ["XEmbeddedResource", "x-kubernetes-embedded-resource", flag],
  ["XIntOrString", "x-kubernetes-int-or-string", flag],
  ["XListMapKeys", "x-kubernetes-list-map-keys", orNull],
  ["XListType", "x-kubernetes-list-type", orNull],
  ["XMapType", "x-kubernetes-map-type", orNull],
  ["XValidations", "x-kubernetes-validations", (value) => structsOf(ruleFields, value)],
];

const scaleFields: readonly Field[] = [
  ["SpecReplicasPath", "specReplicasPath", text],
  ["StatusReplicasPath", "statusReplicasPath", text],
  ["LabelSelectorPath", "labelSelectorPath", orNull],
];

const subresourceFields: readonly Field[] = [
  ["Status", "status", (value) => structOf([], value)],
  ["Scale", "scale", (value) => structOf(scaleFields, value)],
];

const columnFields: readonly Field[] = [
  ["Name", "name", text],
  ["Type", "type", text],
  ["Format", "format", text],
  ["Description", "description", text],
  ["Priority", "priority", number],
  ["JSONPath", "jsonPath", text],
];

/** Parts that are moved to the spec if they are the same in all versions. */
const sharedFields: readonly Field[] = [
  ["Schema", "schema", (value) => structOf([["OpenAPIV3Schema", "openAPIV3Schema", schema]], value)],
  ["Subresources", "subresources", (value) => structOf(subresourceFields, value)],
  ["AdditionalPrinterColumns", "additionalPrinterColumns", (value) => structsOf(columnFields, value)],
  ["SelectableFields", "selectableFields", (value) => structsOf([["JSONPath", "jsonPath", text]], value)],
];

const ownFields: readonly Field[] = [
  ["Name", "name", text],
  ["Served", "served", flag],
  ["Storage", "storage", flag],
  ["Deprecated", "deprecated", flag],
  ["DeprecationWarning", "deprecationWarning", orNull],
];

/**
 * Versions of a definition as the real server's messages show them: in its internal type, whose fields have no JSON names.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apis/apiextensions/types.go and v1/conversion.go.
 */
export function internalVersions(versions: readonly CrdVersion[] | null | undefined): JsonValue {
  if (!versions) return null;
  const values = versions as unknown as readonly Readonly<Record<string, JsonValue>>[];
  const isShared = ([, name]: Field): boolean => values.every((version) => equalJson(version[name], values[0]?.[name]));
  const fields = [...ownFields, ...sharedFields.map((field): Field => (isShared(field) ? [field[0], field[1], () => null] : field))];
  return values.map((version) => structOf(fields, version));
}

function structOf(fields: readonly Field[], value: JsonValue | undefined): JsonValue {
  if (!isJsonObject<JsonValue>(value)) return null;
  return Object.fromEntries(fields.map(([goName, name, show]) => [goName, show(value[name])]));
}

function structsOf(fields: readonly Field[], value: JsonValue | undefined): JsonValue {
  return Array.isArray(value) ? value.map((item) => structOf(fields, item)) : null;
}

function mapOf(value: JsonValue | undefined, show: (member: JsonValue) => JsonValue): JsonValue {
  if (!isJsonObject<JsonValue>(value)) return null;
  const entries = Object.entries(value).toSorted(([a], [b]) => byCodeUnits(a, b));
  return Object.fromEntries(entries.map(([key, member]) => [key, show(member)]));
}

function schemaOf(value: JsonValue): JsonValue {
  return structOf(schemaFields, value);
}
