import { parseField, type SchemaFacts } from "./schema-facts.ts";

/** What a request is checked for. */
export interface SchemaProblem {
  /** Path of the field, such as `properties.containers[0].name`; empty: the whole body. */
  readonly path: string;
  readonly kind: "unknown" | "missing" | "type" | "enum";
  /** Expected type. */
  readonly expected: string;
}

const maxInteger = 2_147_483_647;

/**
 * The first problem of a request's body; `undefined` if there is none. Read-only fields are allowed and ignored, as by the service: clients send
 * back what they have read. `null` stands for an absent field.
 */
export function schemaProblem(facts: SchemaFacts, type: string, value: unknown, path = ""): SchemaProblem | undefined {
  if (type.endsWith("[]")) {
    if (!Array.isArray(value)) return { path, kind: "type", expected: type };
    return first(value, (each, index) => schemaProblem(facts, type.slice(0, -2), each, `${path}[${index}]`));
  }
  const [, inner] = /^map<(.*)>$/.exec(type) ?? [];
  if (inner !== undefined) {
    if (!isObject(value)) return { path, kind: "type", expected: type };
    return first(Object.entries(value), ([key, each]) => schemaProblem(facts, inner, each, `${path}['${key}']`));
  }
  const choices = facts.enums[type];
  // Azure compares enum values without regard to case.
  if (choices) {
    if (typeof value !== "string") return { path, kind: "type", expected: "string" };
    return choices.some((choice) => choice.toLowerCase() === value.toLowerCase())
      ? undefined
      : { path, kind: "enum", expected: choices.join(",") };
  }
  const fields = facts.types[type];
  return fields ? objectProblem(facts, fields, value, { path, type }) : scalarProblem(type, value, path);
}

function objectProblem(
  facts: SchemaFacts,
  fields: Readonly<Record<string, string>>,
  value: unknown,
  { path, type }: { readonly path: string; readonly type: string },
): SchemaProblem | undefined {
  if (!isObject(value)) return { path, kind: "type", expected: type };
  const at = (field: string): string => (path === "" ? field : `${path}.${field}`);
  const unknown = Object.keys(value).find((field) => !(field in fields));
  if (unknown !== undefined) return { path: at(unknown), kind: "unknown", expected: type };
  return first(Object.entries(fields), ([field, text]) => {
    const { type: expected, isRequired, isReadOnly } = parseField(text);
    const each = value[field];
    if (each === undefined || each === null) return isRequired ? { path: at(field), kind: "missing", expected } : undefined;
    return isReadOnly ? undefined : schemaProblem(facts, expected, each, at(field));
  });
}

function scalarProblem(type: string, value: unknown, path: string): SchemaProblem | undefined {
  const fits =
    type === "object" ||
    (type === "integer" ? Number.isInteger(value) && Math.abs(Number(value)) <= maxInteger : typeof value === type) ||
    false;
  return fits ? undefined : { path, kind: "type", expected: type };
}

function first<T>(items: readonly T[], check: (item: T, index: number) => SchemaProblem | undefined): SchemaProblem | undefined {
  for (const [index, item] of items.entries()) {
    const problem = check(item, index);
    if (problem) return problem;
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
