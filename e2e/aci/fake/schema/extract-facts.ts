import type { SchemaFacts } from "./schema-facts.ts";

/** The part of a Swagger 2.0 document that {@link extractFacts} reads. */
export interface SwaggerDocument {
  readonly definitions: Readonly<Record<string, SwaggerSchema>>;
}

/** A schema of Swagger 2.0. */
interface SwaggerSchema {
  readonly type?: string;
  readonly $ref?: string;
  readonly enum?: readonly string[];
  readonly items?: SwaggerSchema;
  readonly properties?: Readonly<Record<string, SwaggerSchema>>;
  readonly additionalProperties?: SwaggerSchema | boolean;
  readonly required?: readonly string[];
  readonly readOnly?: boolean;
  readonly allOf?: readonly SwaggerSchema[];
  readonly "x-ms-enum"?: { readonly name: string };
}

/** Fields that every resource of Azure Resource Manager has besides its own. Source: common-types/resource-management/v5/types.json. */
const resourceFields: Readonly<Record<string, string>> = { id: "string-", name: "string-", type: "string-", systemData: "object-" };

/**
 * Extracts the facts about some types, and about all types that they use.
 *
 * @param roots - names of definitions
 * @throws Error if a definition is missing
 */
export function extractFacts(document: SwaggerDocument, roots: readonly string[], source: string): SchemaFacts {
  const enums: Record<string, readonly string[]> = {};
  const types: Record<string, Readonly<Record<string, string>>> = {};
  const visit = (name: string): void => {
    if (name in enums || name in types) return;
    const schema = document.definitions[name];
    if (schema === undefined) throw new Error(`the document has no definition ${name}`);
    if (schema.enum) {
      enums[name] = schema.enum;
      return;
    }
    const { properties = {}, required = [], allOf = [] } = schema;
    const fields: Record<string, string> = allOf.some(({ $ref }) => $ref?.includes("common-types/resource-management"))
      ? { ...resourceFields }
      : {};
    types[name] = fields;
    for (const [field, each] of Object.entries(properties))
      fields[field] = `${typeOf(each)}${required.includes(field) ? "!" : each.readOnly === true ? "-" : ""}`;
  };
  const typeOf = (schema: SwaggerSchema): string => {
    if (schema.$ref !== undefined) {
      const name = schema.$ref.split("/").at(-1) ?? "";
      if (!schema.$ref.startsWith("#/")) return "object";
      visit(name);
      return name;
    }
    if (schema.enum) {
      const name = schema["x-ms-enum"]?.name ?? "";
      enums[name] = schema.enum;
      return name;
    }
    if (schema.type === "array") return `${typeOf(schema.items ?? {})}[]`;
    if (typeof schema.additionalProperties === "object") return `map<${typeOf(schema.additionalProperties)}>`;
    return schema.type ?? "object";
  };
  for (const name of roots) visit(name);
  return { source, enums: sorted(enums), types: sorted(types) };
}

function sorted<T>(entries: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
