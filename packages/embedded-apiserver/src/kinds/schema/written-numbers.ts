import { isJsonObject } from "../../json/json-value.ts";
import { type Place, typeProblem } from "./decode.ts";
import { structSchema, type TypeSchema } from "./schema.ts";

/** A number that is an integer, but is written with a fraction or an exponent, such as `1e3`. */
class WrittenNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Such a number after a colon, a comma, a bracket or a space. A string may contain one too. */
const writtenNumber = /[[:,\s]-?\d+(?:\.\d+|(?:\.\d+)?e[+-]?\d+)(?=[\s,\]}]|$)/i;

type Start = Omit<Place, "path"> & { readonly schema: TypeSchema };

/**
 * Problem with an integer of a built-in kind that JSON writes with a fraction or an exponent, which Go's decoder refuses; `undefined` if there is
 * none.
 *
 * Source: Go's encoding/json/decode.go, `literalStore`.
 *
 * @param definition - such as `io.k8s.api.core.v1.Pod`
 * @param text - JSON of an object, of a merge patch, or of a JSON patch, which is a list
 */
export function writtenNumberProblem(definition: string, text: string): string | undefined {
  if (!writtenNumber.test(text)) return undefined;
  const body = parseWritten(text);
  const root: Start = { schema: structSchema(definition), struct: undefined, goPath: "" };
  if (!Array.isArray(body)) return problemOf(body, root);
  const operations = (body as readonly unknown[]).filter((operation) => isJsonObject<unknown>(operation));
  // What a later operation replaces or removes is not decoded.
  const replacements = new Map(operations.flatMap(({ op, path }, index) => (op === "replace" || op === "remove" ? [[path, index]] : [])));
  for (const [index, { op, path, value }] of operations.entries()) {
    if (op === "test" || typeof path !== "string" || (replacements.get(path) ?? index) > index) continue;
    const start = startAt(path, root);
    const problem = start === undefined ? undefined : problemOf(value, start);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function parseWritten(text: string): unknown {
  const reviver = (_key: string, value: unknown, { source = "" }: { readonly source?: string }): unknown =>
    Number.isInteger(value) && /[.e]/i.test(source) ? new WrittenNumber(source) : value;
  try {
    return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
  } catch {
    // V8 revives no more than some thousand levels, and no field of a built-in kind is that deep.
    return undefined;
  }
}

/** Type at the path of a JSON patch; `undefined` if the kind has no such field. */
function startAt(path: string, root: Start): Start | undefined {
  const names = path.split("/").slice(1);
  return names.reduce<Start | undefined>((start, name) => (start === undefined ? undefined : memberOf(start, name)), root);
}

function memberOf({ schema, struct, goPath }: Start, name: string): Start | undefined {
  if (schema.type === "array") return { schema: schema.items, struct, goPath };
  if (schema.type === "map") return { schema: schema.values, struct, goPath };
  const field = schema.type === "struct" ? schema.fields.get(name) : undefined;
  if (schema.type !== "struct" || field === undefined) return undefined;
  return { schema: field.schema, struct: schema, goPath: goPath === "" ? name : `${goPath}.${name}` };
}

function problemOf(value: unknown, start: Start): string | undefined {
  const { type } = start.schema;
  if (value instanceof WrittenNumber)
    return type === "integer" || type === "intOrString" ? typeProblem(start.schema, `number ${value.text}`, start) : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const inner = memberOf(start, name);
    const problem = inner === undefined ? undefined : problemOf(member, inner);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
