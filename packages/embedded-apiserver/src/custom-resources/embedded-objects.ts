import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { byCodeUnits, withSortedKeys } from "../json/key-order.ts";
import { groupVersionProblem } from "../kinds/api-version.ts";
import type { FieldError } from "../kinds/kind.ts";
import { decode, DecodeError } from "../kinds/schema/decode.ts";
import { invalidValue, required } from "../kinds/validation/field-errors.ts";
import { each } from "../kinds/validation/labels.ts";
import { kindProblems } from "../kinds/validation/names.ts";
import { embeddedMetadataErrors } from "../rest/metadata.ts";
import type { JsonSchema } from "./crd-fields.ts";
import { memberSchema } from "./prune-and-default.ts";

/**
 * Objects within custom resources: `x-kubernetes-embedded-resource`.
 *
 * Source of this file: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/objectmeta, algorithm.go and validation.go.
 */

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const typeFields = ["apiVersion", "kind"] as const;

/** Whether values of a schema can have embedded objects. */
export function mayEmbedObjects(schema: JsonSchema): boolean {
  const { items, properties = {}, additionalProperties } = schema;
  return (
    schema["x-kubernetes-embedded-resource"] === true ||
    (items !== undefined && mayEmbedObjects(items)) ||
    (typeof additionalProperties === "object" && mayEmbedObjects(additionalProperties)) ||
    Object.values(properties).some(mayEmbedObjects)
  );
}

/**
 * Drops what has wrong types in the type and metadata of embedded objects, and decodes the rest. Modifies the value, which was stored with an
 * earlier schema.
 */
export function dropMalformedTypes(value: JsonValue, schema: JsonSchema): void {
  for (const { object, at } of embeddedObjects(value, schema, "")) {
    for (const field of typeFields) if (notText(object, field, at).length > 0) delete object[field];
    const metadata = object["metadata"];
    if (!isJsonObject<JsonValue>(metadata)) continue;
    const fields = Object.entries(metadata).map(([name, member]) => metadataOf({ metadata: { [name]: member } }, at));
    object["metadata"] = Object.assign({}, ...fields.map((field) => ("object" in field ? field.object : {}))) as JsonObject;
  }
}

/**
 * Decodes the metadata of embedded objects, which drops its unknown fields. Modifies the value.
 *
 * @param keepsMalformed - whether what has wrong types stays as it is, so that validation finds it
 * @returns paths of the unknown fields
 * @throws DecodeError unless `keepsMalformed`
 */
export function decodeEmbeddedObjects(value: JsonValue, schema: JsonSchema, keepsMalformed = false): string[] {
  const unknown: string[] = [];
  for (const { object, at } of embeddedObjects(value, schema, "")) {
    const [error] = keepsMalformed ? [] : typeFields.flatMap((field) => notText(object, field, at));
    if (error !== undefined) throw new DecodeError(`${error.field}: ${error.message}`);
    if (object["metadata"] === undefined) continue;
    const metadata = metadataOf(object, at);
    if ("object" in metadata) {
      object["metadata"] = metadata.object as JsonObject;
      unknown.push(...metadata.unknownFields.map((path) => `${at("metadata")}.${path}`));
    } else if (!keepsMalformed) throw new DecodeError(`${metadata.field}: ${metadata.message}`);
  }
  return unknown.toSorted(byCodeUnits);
}

/** Validates the type and metadata of embedded objects. @param path - of the value; default: the root */
export function embeddedObjectErrors(value: JsonValue, schema: JsonSchema, path = ""): FieldError[] {
  return Array.from(embeddedObjects(value, schema, path)).flatMap(({ object, at }) => [
    ...typeFields.filter((field) => object[field] === undefined).map((field) => required(at(field))),
    ...typeErrors(object, at),
    ...(object["metadata"] === undefined ? [] : metadataProblems(object, at)),
  ]);
}

/** An embedded object, and the path of each of its fields. */
interface EmbeddedObject {
  readonly object: JsonObject;
  readonly at: (field: string) => string;
}

function* embeddedObjects(value: JsonValue, schema: JsonSchema, path: string): Generator<EmbeddedObject> {
  if (Array.isArray(value)) {
    if (schema.items !== undefined)
      for (const [index, item] of value.entries()) yield* embeddedObjects(item, schema.items, `${path}[${index}]`);
    return;
  }
  if (!isJsonObject<JsonValue>(value)) return;
  const at = (field: string): string => (path === "" ? field : `${path}.${field}`);
  if (schema["x-kubernetes-embedded-resource"] === true) yield { object: value, at };
  for (const [name, member] of Object.entries(value)) {
    const property = memberSchema(schema, name);
    const isKey = property === schema.additionalProperties;
    if (property !== undefined) yield* embeddedObjects(member, property, isKey ? `${path}[${name}]` : at(name));
  }
}

function metadataOf(object: JsonObject, at: EmbeddedObject["at"]): ReturnType<typeof decode> | FieldError {
  const metadata = object["metadata"];
  try {
    return decode(objectMeta, metadata ?? {});
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return invalidValue(at("metadata"), withSortedKeys(metadata), error.message);
  }
}

function metadataProblems(object: JsonObject, at: EmbeddedObject["at"]): FieldError[] {
  const metadata = metadataOf(object, at);
  return "object" in metadata ? embeddedMetadataErrors(metadata.object, at("metadata")) : [metadata];
}

function notText(object: JsonObject, field: string, at: EmbeddedObject["at"]): FieldError[] {
  const value = object[field];
  return value === undefined || typeof value === "string" ? [] : [invalidValue(at(field), withSortedKeys(value), "must be a string")];
}

function typeErrors(object: JsonObject, at: EmbeddedObject["at"]): FieldError[] {
  const wrong = typeFields.flatMap((field) => notText(object, field, at));
  return [
    ...wrong,
    ...typeFields.flatMap((field) => {
      const text = object[field];
      if (typeof text !== "string") return [];
      if (text === "") return [invalidValue(at(field), "", "must not be empty")];
      return each(at(field), text, field === "kind" ? kindProblems(text) : versionProblems(text));
    }),
  ];
}

function versionProblems(apiVersion: string): string[] {
  const problem = groupVersionProblem(apiVersion);
  return problem === undefined ? [] : [problem];
}
