import type { FieldSchema, StructSchema, TypeSchema } from "./schema.ts";

/** A type that the OpenAPI document does not have. Every field keeps its empty value, because absent and empty fields are told apart. */
export function structOf(definition: string, fields: Readonly<Record<string, TypeSchema>>): StructSchema {
  return { type: "struct", definition, fields: new Map(Object.entries(fields).map(([name, schema]) => [name, pointer(schema)])) };
}

function pointer(schema: TypeSchema): FieldSchema {
  return { schema, isPointer: true, isAlwaysWritten: false, patchStrategies: [], patchMergeKey: undefined };
}
