import { readFileSync } from "node:fs";
import { equalJson } from "../../json/json-value.ts";
import type { FieldError } from "../kind.ts";
import { once } from "../schema/once.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "./names.ts";
import { duplicate, invalidValue, notSupported, required, tooLong, tooMany } from "./field-errors.ts";
import { immutableErrors } from "./immutable.ts";
import { each } from "./labels.ts";
import { labelKeyProblems } from "./label-syntax.ts";
import { extendedResourceProblems, poolNameErrors, qualifiedResourceErrors, uuidProblems } from "./device-names.ts";

/** Rules of a field, as `tools/declarative-rules.ts` writes them. */
interface FieldRules {
  readonly required?: true;
  readonly pointer?: true;
  readonly immutable?: true;
  readonly noModify?: true;
  readonly minimum?: number;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly keyFormat?: string;
  readonly enum?: readonly string[];
  readonly unique?: readonly string[];
  readonly definition?: string;
  readonly isMap?: true;
}

interface TypeRules {
  readonly fields: Readonly<Record<string, FieldRules>>;
  readonly union?: readonly string[];
}

type JsonFields = Readonly<Record<string, unknown>>;

/** Loaded when an object with rules is first validated, to keep the server's start fast. */
const rulesByDefinition = once(
  () =>
    (
      JSON.parse(readFileSync(new URL("../../../data/declarative-rules.json", import.meta.url), "utf8")) as {
        readonly types: Readonly<Record<string, TypeRules>>;
      }
    ).types,
);

/**
 * Evaluates the declarative validation rules of a type and of all types below it, in the order of the Go fields. Values that an update does
 * not change are not validated again.
 *
 * In 1.36 the real server computes these errors but answers with those of its hand-written validation, so the details are worded like the
 * latter. Source: Kubernetes v1.36.3 pkg/apis/GROUP/v1/zz_generated.validations.go and k8s.io/apimachinery v0.36.3 pkg/api/validate.
 *
 * @param definition - such as `io.k8s.api.resource.v1.ResourceClaim`; there are no errors if it has no rules
 * @param path - of the value; `""` for an object
 */
export function declarativeErrors(definition: string, value: JsonFields, old?: JsonFields, path: string = ""): FieldError[] {
  const rules = rulesByDefinition()[definition];
  if (rules === undefined) return [];
  return [
    ...Object.entries(rules.fields).flatMap(([name, fieldRules]) => {
      const field = path === "" ? name : `${path}.${name}`;
      return fieldErrors(fieldRules, value[name], { old: old?.[name], isUpdate: old !== undefined, field });
    }),
    ...unionErrors(rules.union, value, path),
  ];
}

interface Place {
  readonly old: unknown;
  readonly isUpdate: boolean;
  readonly field: string;
}

function fieldErrors(rules: FieldRules, value: unknown, { old, isUpdate, field }: Place): FieldError[] {
  if (isUpdate && equalJson(value, old)) return [];
  const isMissing = value === undefined || value === null || (rules.pointer !== true && !isStruct(rules, value) && isZero(value));
  if (isMissing && rules.required === true) return [required(field)];
  if (isUpdate && rules.immutable === true) return immutableErrors(value, old, field);
  if (isUpdate && rules.noModify === true && !isMissing && old !== undefined) return immutableErrors(value, old, field);
  if (isMissing) return [];
  if (rules.maxItems !== undefined && Array.isArray(value) && value.length > rules.maxItems)
    return [tooMany(field, value.length, rules.maxItems)];
  return [...scalarErrors(rules, value, field), ...childErrors(rules, value, old, field), ...duplicateErrors(rules.unique, value, field)];
}

function scalarErrors({ minimum, maxLength, format, keyFormat, enum: values }: FieldRules, value: unknown, field: string): FieldError[] {
  const text = typeof value === "string" ? value : undefined;
  return [
    ...(minimum !== undefined && typeof value === "number" && value < minimum
      ? [invalidValue(field, value, `must be greater than or equal to ${minimum}`)]
      : []),
    ...(maxLength !== undefined && text !== undefined && Buffer.byteLength(text) > maxLength ? [tooLong(field, maxLength)] : []),
    ...(format !== undefined && text !== undefined ? formatErrors(format, text, field) : []),
    ...(keyFormat !== undefined ? Object.keys(value as object).flatMap((key) => formatErrors(keyFormat, key, field)) : []),
    ...(values !== undefined && text !== undefined && !values.includes(text) ? [notSupported(field, text, values)] : []),
  ];
}

function childErrors({ definition, isMap }: FieldRules, value: unknown, old: unknown, field: string): FieldError[] {
  if (definition === undefined) return [];
  if (Array.isArray(value)) {
    const known: readonly unknown[] = Array.isArray(old) ? old : [];
    return value
      .map((item: JsonFields, index): [JsonFields, number] => [item, index])
      .filter(([item]) => !known.some((one) => equalJson(one, item)))
      .flatMap(([item, index]) => declarativeErrors(definition, item, undefined, `${field}[${index}]`));
  }
  const fields = value as Record<string, JsonFields>;
  if (isMap !== true) return declarativeErrors(definition, fields, old as JsonFields | undefined, field);
  return Object.entries(fields).flatMap(([key, item]) => declarativeErrors(definition, item, undefined, `${field}[${key}]`));
}

function duplicateErrors(keys: readonly string[] | undefined, value: unknown, field: string): FieldError[] {
  if (keys === undefined || !Array.isArray(value)) return [];
  const seen = new Set<string>();
  return value.flatMap((item: unknown, index) => {
    const key = keys.length === 0 ? item : keys.length === 1 ? (item as JsonFields)[keys[0] ?? ""] : keyValues(keys, item as JsonFields);
    const text = JSON.stringify(key);
    if (!seen.has(text)) {
      seen.add(text);
      return [];
    }
    return [duplicate(`${field}[${index}]`, key)];
  });
}

function keyValues(keys: readonly string[], item: JsonFields): JsonFields {
  return Object.fromEntries(keys.map((key) => [key, item[key]]));
}

function unionErrors(union: readonly string[] | undefined, value: JsonFields, path: string): FieldError[] {
  if (union === undefined) return [];
  const members = union.filter((name) => value[name] !== undefined);
  return members.length === 1 ? [] : [invalidValue(path, members.length === 0 ? "" : value, "exactly one value must be specified")];
}

function formatErrors(format: string, text: string, field: string): FieldError[] {
  switch (format) {
    case "k8s-short-name":
      return each(field, text, dnsLabelProblems(text));
    case "k8s-long-name":
      return each(field, text, dnsSubdomainProblems(text));
    case "k8s-long-name-caseless":
      return each(field, text, dnsSubdomainProblems(text.toLowerCase()));
    case "k8s-label-key":
      return each(field, text, labelKeyProblems(text));
    case "k8s-uuid":
      return each(field, text, uuidProblems(text));
    case "k8s-resource-pool-name":
      return poolNameErrors(text, field);
    case "k8s-resource-fully-qualified-name":
      return qualifiedResourceErrors(text, field, true);
    case "k8s-extended-resource-name":
      return each(field, text, extendedResourceProblems(text));
    default:
      throw new RangeError(`validate ${field}: the format ${format} of data/declarative-rules.json has no check`);
  }
}

/** Whether the value is a struct, which is validated even if it is empty. */
function isStruct({ definition, isMap }: FieldRules, value: unknown): boolean {
  return definition !== undefined && isMap !== true && !Array.isArray(value);
}

function isZero(value: unknown): boolean {
  if (value === "" || value === 0 || value === false) return true;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
