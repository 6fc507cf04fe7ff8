import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, Column, FieldError, Kind } from "../kind.ts";
import { required } from "../validation/field-errors.ts";
import { decode } from "../schema/decode.ts";
import { type OpenApiSchema, openApiDefinitions, structSchema } from "../schema/schema.ts";

/** A kind that is stored and shown, but on which the server does not act. */
export interface PlainKind extends Omit<Kind, "version" | "singular" | "schema" | "validate"> {
  /** Default: `v1`. */
  readonly version?: string;
  /** Default: the kind in lower case. */
  readonly singular?: string;
  /** OpenAPI definition; default: the kind in `io.k8s.api.GROUP.VERSION`. */
  readonly schema?: string;
  /** Fields whose changes increment `metadata.generation`. */
  readonly counted?: readonly string[];
  /** Validation besides required fields. */
  readonly validate?: (object: ApiObject, old: ApiObject | undefined) => FieldError[];
}

/** Adds names, generation and the validation of required fields to a kind's own properties. */
export function plainKind({ counted, ...given }: PlainKind): Kind {
  const { group, version = "v1", kind, hasStatus } = given;
  const schema = given.schema ?? `io.k8s.api.${group === "" ? "core" : (group.split(".", 1)[0] ?? "")}.${version}.${kind}`;
  return {
    ...given,
    version,
    schema,
    singular: given.singular ?? kind.toLowerCase(),
    ...(counted === undefined ? {} : { hasGeneration: true }),
    prepareForCreate(object, context) {
      if (hasStatus === true) object["status"] = emptyStatus(schema);
      given.prepareForCreate?.(object, context);
    },
    prepareForUpdate(object, old, context) {
      given.prepareForUpdate?.(object, old, context);
      if (counted?.some((field) => !equalJson(object[field], old[field]))) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
    },
    validate: (object, old) => [...missingFields(schema, object, ""), ...(given.validate?.(object, old) ?? [])],
  };
}

/** Empty status as the server writes it. */
function emptyStatus(definition: string): unknown {
  const field = structSchema(definition).fields.get("status");
  return field?.schema.type === "struct" ? decode(field.schema.definition, {}).object : {};
}

/** Required strings that are empty. */
function missingFields(definition: string, value: unknown, path: string): FieldError[] {
  const { properties = {}, required: names = [] } = openApiDefinitions()[definition] ?? {};
  if (typeof value !== "object" || value === null) return [];
  const object = value as Readonly<Record<string, unknown>>;
  return Object.entries(properties).flatMap(([name, property]) => {
    // Metadata is validated for every kind elsewhere, and a status has no required fields.
    if (path === "" && (name === "metadata" || name === "status")) return [];
    const field = path === "" ? name : `${path}.${name}`;
    const member = object[name];
    if (property.type === "string" && names.includes(name)) return (member ?? "") === "" ? [required(field)] : [];
    return missingWithin(property, member, field);
  });
}

function missingWithin(schema: OpenApiSchema, value: unknown, path: string): FieldError[] {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (reference !== undefined) return missingFields(reference.slice(reference.lastIndexOf("/") + 1), value, path);
  if (!Array.isArray(value) || schema.items === undefined) return [];
  const { items } = schema;
  return value.flatMap((item, index) => missingWithin(items, item, `${path}[${index}]`));
}

export function textColumn(name: string, description: string, cell: (object: ApiObject) => string | undefined): Column {
  return { name, type: "string", description, cell: (object) => cell(object) ?? "" };
}

/** First values of a list, and the number of further ones. Source: Kubernetes v1.36.3 pkg/printers, `listWithMoreString`. */
export function firstOf(values: readonly string[], limit = 3): string {
  const shown = values.slice(0, limit).join(",");
  return values.length > limit ? `${shown} + ${values.length - limit} more...` : shown;
}
