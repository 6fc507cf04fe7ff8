import type { FieldError } from "../kinds/kind.ts";
import { forbiddenField, invalidValue, required } from "../kinds/validation/field-errors.ts";
import type { JsonSchema } from "./crd-fields.ts";

const types: ReadonlySet<string> = new Set(["array", "boolean", "integer", "number", "object", "string"]);

/**
 * Checks that a schema is structural, which pruning and defaulting rely on.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/validation.go and pkg/apis/apiextensions/validation/validation.go.
 */
export function structuralErrors(schema: JsonSchema, field: string): FieldError[] {
  const errors = nodeErrors(schema, field, "root");
  if (schema.type !== undefined && schema.type !== "" && schema.type !== "object")
    errors.push(invalidValue(`${field}.type`, schema.type, "must be object at the root"));
  return errors;
}

function nodeErrors(schema: JsonSchema, field: string, place: "root" | "field" | "item"): FieldError[] {
  const { type = "", properties, additionalProperties, items } = schema;
  const errors: FieldError[] = [];
  const isFree = schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (type === "" && !(isFree && place !== "root")) errors.push(required(`${field}.type`, missingType(place)));
  else if (type !== "" && !types.has(type)) errors.push({ ...invalidValue(`${field}.type`, type, ""), ...unknownType(type) });
  if (type === "array" && items === undefined) errors.push(required(`${field}.items`, "must be specified"));
  if (properties !== undefined && additionalProperties !== undefined)
    errors.push(forbiddenField(`${field}.additionalProperties`, "additionalProperties and properties are mutual exclusive"));
  if (schema.uniqueItems === true)
    errors.push(forbiddenField(`${field}.uniqueItems`, "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"));
  for (const [name, property] of Object.entries(properties ?? {}))
    errors.push(...nodeErrors(property, `${field}.properties[${name}]`, "field"));
  if (typeof additionalProperties === "object") errors.push(...nodeErrors(additionalProperties, `${field}.additionalProperties`, "field"));
  if (items !== undefined) errors.push(...nodeErrors(items, `${field}.items`, "item"));
  return errors;
}

function missingType(place: "root" | "field" | "item"): string {
  if (place === "root") return "must not be empty at the root";
  return place === "item" ? "must not be empty for specified array items" : "must not be empty for specified object fields";
}

function unknownType(type: string): Pick<FieldError, "reason" | "message"> {
  const list = [...types].map((one) => JSON.stringify(one)).join(", ");
  return { reason: "FieldValueNotSupported", message: `Unsupported value: ${JSON.stringify(type)}: supported values: ${list}` };
}
