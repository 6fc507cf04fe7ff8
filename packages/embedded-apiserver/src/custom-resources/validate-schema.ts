import { goRegExpProblem } from "../go-regexp/go-regexp.ts";
import type { FieldError } from "../kinds/kind.ts";
import { forbiddenField, invalidValue, required } from "../kinds/validation/field-errors.ts";
import { cloneJson } from "../json/json-value.ts";
import type { JsonSchema } from "./crd-fields.ts";
import { embeddedObjectErrors } from "./embedded-objects.ts";
import { prune } from "./prune-and-default.ts";
import { valueErrors } from "./validate-value.ts";

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
  const { type = "", properties, additionalProperties, items, pattern } = schema;
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true && place !== "root";
  const errors = isEmbedded ? embeddedErrors(schema, field) : typeErrors(schema, field, place);
  if (type === "array" && items === undefined) errors.push(required(`${field}.items`, "must be specified"));
  if (properties !== undefined && additionalProperties !== undefined)
    errors.push(forbiddenField(`${field}.additionalProperties`, "additionalProperties and properties are mutual exclusive"));
  if (schema.uniqueItems === true)
    errors.push(forbiddenField(`${field}.uniqueItems`, "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"));
  const problem = pattern === undefined ? undefined : goRegExpProblem(pattern);
  if (problem !== undefined)
    errors.push(invalidValue(`${field}.pattern`, pattern, `must be a valid regular expression, but isn't: ${problem}`));
  for (const [name, property] of Object.entries(properties ?? {}))
    errors.push(...nodeErrors(property, `${field}.properties[${name}]`, "field"));
  if (typeof additionalProperties === "object") errors.push(...nodeErrors(additionalProperties, `${field}.additionalProperties`, "field"));
  if (items !== undefined) errors.push(...nodeErrors(items, `${field}.items`, "item"));
  return errors;
}

function typeErrors({ type = "", ...schema }: JsonSchema, field: string, place: "root" | "field" | "item"): FieldError[] {
  const isFree = schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (type === "") return isFree && place !== "root" ? [] : [required(`${field}.type`, missingType(place))];
  return types.has(type) ? [] : [{ ...invalidValue(`${field}.type`, type, ""), ...unknownType(type) }];
}

/** Checks the schema of an embedded object. */
function embeddedErrors({ type = "", properties = {}, additionalProperties, ...schema }: JsonSchema, field: string): FieldError[] {
  const wrongType = type === "" ? required : (at: string, message: string) => invalidValue(at, type, message);
  const isEmpty = Object.keys(properties).length === 0 && schema["x-kubernetes-preserve-unknown-fields"] !== true;
  return [
    ...(additionalProperties === undefined
      ? []
      : [forbiddenField(`${field}.additionalProperties`, "must not be used if x-kubernetes-embedded-resource is set")]),
    ...(isEmpty
      ? [
          required(
            `${field}.properties`,
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
          ),
        ]
      : []),
    ...Object.entries({ apiVersion: "string", kind: "string", metadata: "object" }).flatMap(([name, wanted]) => {
      const given = properties[name];
      if (given === undefined || given.type === wanted) return [];
      return [invalidValue(`${field}.properties[${name}].type`, given.type ?? "", `must be ${wanted}`)];
    }),
    ...(type === "object" ? [] : [wrongType(`${field}.type`, "must be object if x-kubernetes-embedded-resource is true")]),
  ];
}

/**
 * Checks that the defaults of a structural schema are valid and have no unknown fields.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/defaulting/validation.go; rules in CEL are not evaluated.
 */
export function defaultErrors(schema: JsonSchema, field: string): FieldError[] {
  const { default: value, properties, items } = schema;
  const errors: FieldError[] = [];
  if (value !== undefined) {
    const own = `${field}.default`;
    const unknown: string[] = [];
    // A path, because the root of an object may have `apiVersion`, `kind` and `metadata`.
    prune(cloneJson(value), schema, unknown, own);
    if (unknown.length > 0) errors.push(invalidValue(own, value, "must not have unknown fields"));
    const embedded = embeddedObjectErrors(value, schema, own);
    errors.push(...embedded);
    for (const error of embedded.length > 0 ? [] : valueErrors(value, schema, ""))
      errors.push({ ...error, field: error.field === "<nil>" ? own : `${own}.${error.field}` });
  }
  for (const [name, property] of Object.entries(properties ?? {})) errors.push(...defaultErrors(property, `${field}.properties[${name}]`));
  // Defaults are not permitted below additionalProperties.
  if (items !== undefined) errors.push(...defaultErrors(items, `${field}.items`));
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
