import type { ApiObject, Kind } from "../kind.ts";
import { structSchema, type TypeSchema } from "./schema.ts";

/** Fields of a struct with lists that are written even if they are empty. */
interface ListFields {
  /** Names of such lists. */
  readonly lists: readonly string[];
  /** Fields whose values have such lists, or whose items or members have them. */
  readonly children: readonly (readonly [name: string, fields: ListFields])[];
}

/** By definition; `undefined` for a struct that has none. A struct that is being looked at counts as one without them. */
const known = new Map<string, ListFields | undefined>();

/**
 * Sets empty lists that are always written to null, as the real server shows them: it stores objects as protobuf, where an empty list is like an
 * absent one. Definitions of custom resources and their objects are stored as JSON. Modifies the object.
 */
export function dropEmptyLists(kind: Pick<Kind, "custom" | "group" | "schema">, object: ApiObject): void {
  if (kind.custom !== undefined || kind.group === "apiextensions.k8s.io") return;
  const fields = listFieldsOf(kind.schema);
  if (fields !== undefined) dropIn(object, fields);
}

function dropIn(value: unknown, fields: ListFields): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) dropIn(item, fields);
    return;
  }
  const struct = value as Record<string, unknown>;
  for (const name of fields.lists) {
    const list = struct[name];
    if (Array.isArray(list) && list.length === 0) struct[name] = null;
  }
  for (const [name, inner] of fields.children) dropIn(struct[name], inner);
}

function listFieldsOf(definition: string): ListFields | undefined {
  if (known.has(definition)) return known.get(definition);
  known.set(definition, undefined);
  const lists: string[] = [];
  const children: (readonly [string, ListFields])[] = [];
  for (const [name, { schema, isPointer, isAlwaysWritten }] of structSchema(definition).fields) {
    if (isAlwaysWritten && !isPointer && schema.type === "array") lists.push(name);
    const inner = innermost(schema);
    const fields = inner.type === "struct" ? listFieldsOf(inner.definition) : undefined;
    if (fields !== undefined) children.push([name, fields]);
  }
  const fields = lists.length + children.length === 0 ? undefined : { lists, children };
  known.set(definition, fields);
  return fields;
}

/** Type of the items of a list. Maps of structs have no such lists. */
function innermost(schema: TypeSchema): TypeSchema {
  return schema.type === "array" ? innermost(schema.items) : schema;
}
