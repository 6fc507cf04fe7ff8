import { expressions } from "../cel/engine.ts";
import type { FieldError } from "../kinds/kind.ts";
import { invalidValue, notSupported, required } from "../kinds/validation/field-errors.ts";
import type { JsonSchema, ValidationRule } from "./crd-fields.ts";
import { validFieldPath } from "./field-path.ts";

/** Source of this file: k8s.io/apiextensions-apiserver v0.36.3 pkg/apis/apiextensions/validation/validation.go. */

/** Whether a schema or a part of it has rules. */
export function hasRules(schema: JsonSchema): boolean {
  return (schema["x-kubernetes-validations"]?.length ?? 0) > 0 || partsOf(schema).some(({ part }) => hasRules(part));
}

/**
 * Validates the rules of a schema: first how they are written, then their expressions.
 *
 * @param field - path of the schema
 */
export function rulesErrors(schema: JsonSchema, field: string): FieldError[] {
  if (!hasRules(schema)) return [];
  const errors = writtenErrors(schema, field);
  return errors.length > 0 ? errors : expressions().ruleErrors(schema, field);
}

interface SchemaPart {
  readonly part: JsonSchema;
  readonly place: string;
}

function partsOf({ properties = {}, additionalProperties, items, allOf = [] }: JsonSchema): SchemaPart[] {
  return [
    ...(typeof additionalProperties === "object" ? [{ part: additionalProperties, place: "additionalProperties" }] : []),
    ...Object.entries(properties).map(([name, part]) => ({ part, place: `properties[${name}]` })),
    ...allOf.map((part, index) => ({ part, place: `allOf[${index}]` })),
    ...(items === undefined ? [] : [{ part: items, place: "items" }]),
  ];
}

function writtenErrors(schema: JsonSchema, field: string): FieldError[] {
  return [
    ...partsOf(schema).flatMap(({ part, place }) => writtenErrors(part, `${field}.${place}`)),
    ...(schema["x-kubernetes-validations"] ?? []).flatMap((rule, index) =>
      ruleErrors(rule, schema, `${field}.x-kubernetes-validations[${index}]`),
    ),
  ];
}

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

function ruleErrors(rule: ValidationRule, schema: JsonSchema, field: string): FieldError[] {
  const { reason, messageExpression = "" } = rule;
  return [
    ...ruleAndMessageErrors(rule, field),
    ...(messageExpression !== "" && messageExpression.trim() === ""
      ? [required(`${field}.messageExpression`, "messageExpression must be non-empty if specified")]
      : []),
    ...(reason !== undefined && !reasons.includes(reason) ? [notSupported(`${field}.reason`, reason, reasons)] : []),
    ...fieldPathErrors(rule, schema, `${field}.fieldPath`),
  ];
}

function ruleAndMessageErrors({ rule, message = "" }: ValidationRule, field: string): FieldError[] {
  if (rule.trim() === "") return [required(`${field}.rule`, "rule is not specified")];
  if (message !== "" && message.trim() === "") return [invalidValue(`${field}.message`, message, "must be non-empty if specified")];
  if (message.trim().includes("\n")) return [invalidValue(`${field}.message`, message, "must not contain line breaks")];
  if (rule.trim().includes("\n") && message.trim() === "")
    return [required(`${field}.message`, "message must be specified if rule contains line breaks")];
  return [];
}

function fieldPathErrors({ fieldPath = "" }: ValidationRule, schema: JsonSchema, field: string): FieldError[] {
  if (fieldPath === "") return [];
  return [
    ...(fieldPath.trim() === "" ? [invalidValue(field, fieldPath, "must be non-empty if specified")] : []),
    ...(fieldPath.includes("\n") ? [invalidValue(field, fieldPath, "must not contain line breaks")] : []),
    ...(typeof validFieldPath(fieldPath, schema) === "string" ? [invalidValue(field, fieldPath, "must be a valid path")] : []),
  ];
}
