import type { JsonSchema } from "../custom-resources/crd-fields.ts";
import { escapeProperty } from "./escape.ts";
import { boolType, dynType, intType, listType, mapType, stringType, type CelType } from "./types.ts";

/** Type of a schema, with what costs depend on. Source: k8s.io/apiserver v0.36.3 pkg/cel/types.go. */
export interface SchemaType {
  readonly celType: CelType;
  /** Greatest number of elements or characters. */
  readonly maxElements: number;
  /** Smallest size in JSON, in bytes. */
  readonly minSize: number;
  /** Types of an object's fields by escaped name. */
  readonly fields?: ReadonlyMap<string, SchemaType>;
  readonly key?: SchemaType;
  readonly element?: SchemaType;
}

/** Source: k8s.io/apiserver v0.36.3 pkg/apis/cel/config.go. */
export const maxRequestBytes: number = 3 * 1024 * 1024;

const dateFormats: Readonly<Record<string, readonly [CelType, number, number]>> = {
  duration: [{ kind: "duration" }, 3, 32],
  date: [{ kind: "timestamp" }, 12, 12],
  "date-time": [{ kind: "timestamp" }, 21, 32],
};

/**
 * Type of a schema; `undefined` if rules cannot see its values.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/cel/common/schemas.go, `SchemaDeclType`.
 *
 * @param isResource - whether it is the root of a custom resource or of an embedded one
 * @param name - name for the type of an object
 */
export function schemaType(schema: JsonSchema, isResource: boolean, name: string): SchemaType | undefined {
  if (schema["x-kubernetes-int-or-string"] === true)
    return {
      celType: dynType,
      minSize: 1,
      maxElements: schema.maxLength === undefined ? maxRequestBytes - 2 : characters(schema.maxLength),
    };
  const whole = isResource ? withObjectMeta(schema) : schema;
  switch (whole.type) {
    case "array":
      return arrayType(whole, name);
    case "object":
      return objectType(whole, name);
    case "string":
      return textType(whole);
    case "boolean":
      return { celType: boolType, minSize: 4, maxElements: 0 };
    case "number":
      return { celType: { kind: "double" }, minSize: 1, maxElements: 0 };
    case "integer":
      return { celType: intType, minSize: 1, maxElements: 0 };
    default:
      return undefined;
  }
}

const textSchema: JsonSchema = { type: "string" };

/** The schema with the fields that every resource has, unless it declares them itself. */
export function withObjectMeta(schema: JsonSchema): JsonSchema {
  const isText = (part: JsonSchema | undefined): boolean => part?.type === "string";
  const { kind, apiVersion, metadata: own } = schema.properties ?? {};
  if (isText(kind) && isText(apiVersion) && isText(own?.properties?.["name"]) && isText(own?.properties?.["generateName"])) return schema;
  const metadata: JsonSchema = { type: "object", properties: { name: textSchema, generateName: textSchema } };
  return { ...schema, properties: { ...schema.properties, kind: textSchema, apiVersion: textSchema, metadata } };
}

function isEmbedded(schema: JsonSchema): boolean {
  return schema["x-kubernetes-embedded-resource"] === true;
}

function characters(length: number): number {
  return Math.max(0, length) * 4;
}

function arrayType({ items, maxItems }: JsonSchema, name: string): SchemaType | undefined {
  const element = items === undefined ? undefined : schemaType(items, isEmbedded(items), `${name}.@idx`);
  if (element === undefined) return undefined;
  const maxElements = maxItems === undefined ? Math.floor((maxRequestBytes - 2) / (element.minSize + 1)) : Math.max(0, maxItems);
  return { celType: listType(element.celType), element, maxElements, minSize: 2 };
}

function objectType(schema: JsonSchema, name: string): SchemaType | undefined {
  const { additionalProperties, maxProperties, properties = {}, required = [] } = schema;
  if (typeof additionalProperties === "object") {
    const element = schemaType(additionalProperties, isEmbedded(additionalProperties), `${name}.@elem`);
    if (element === undefined) return undefined;
    const maxElements =
      maxProperties === undefined ? Math.floor((maxRequestBytes - 2) / (element.minSize + 6)) : Math.max(0, maxProperties);
    return { celType: mapType(stringType, element.celType), key: keyType, element, maxElements, minSize: 2 };
  }
  const fields = new Map<string, SchemaType>();
  let minSize = 2;
  for (const [property, member] of Object.entries(properties)) {
    const escaped = escapeProperty(property);
    const type = schemaType(member, isEmbedded(member), `${name}.${escaped ?? property}`);
    if (type === undefined) continue;
    if (escaped !== undefined) fields.set(escaped, type);
    if (required.includes(property) && member.default === undefined) minSize += property.length + type.minSize + 4;
  }
  return { celType: { kind: "object", name }, fields, maxElements: 0, minSize };
}

const keyType: SchemaType = { celType: stringType, minSize: 2, maxElements: 0 };

function textType({ format = "", maxLength, enum: values }: JsonSchema): SchemaType {
  const date = dateFormats[format];
  if (date !== undefined) return { celType: date[0], minSize: date[1], maxElements: date[2] };
  if (format === "byte")
    return { celType: { kind: "bytes" }, minSize: 2, maxElements: maxLength === undefined ? maxRequestBytes - 2 : Math.max(0, maxLength) };
  if (maxLength !== undefined) return { celType: stringType, minSize: 2, maxElements: characters(maxLength) };
  const longest = Math.max(0, ...(values ?? []).map((value) => (typeof value === "string" ? Buffer.byteLength(value) : 0)));
  return { celType: stringType, minSize: 2, maxElements: values === undefined || values.length === 0 ? maxRequestBytes - 2 : longest };
}

/** Types of the fields of all object types inside some types, by the name of the type and of the field. */
export function fieldTypes(types: readonly SchemaType[]): (typeName: string, field: string) => CelType | undefined {
  const found = new Map<string, ReadonlyMap<string, SchemaType>>();
  const visit = (part: SchemaType): void => {
    if (part.celType.kind === "object" && part.fields !== undefined) found.set(part.celType.name, part.fields);
    for (const member of [...(part.fields?.values() ?? []), ...(part.element === undefined ? [] : [part.element])]) visit(member);
  };
  for (const type of types) visit(type);
  return (name, field) => (found.get(name)?.get(field) ?? found.get(name)?.get(`__${field}__`))?.celType;
}
