import { openApiDefinitions, referredDefinition, type OpenApiSchema } from "./schema.ts";

/** A schema without references. */
export type ResolvedSchema = Omit<OpenApiSchema, "$ref" | "properties" | "items" | "additionalProperties"> & {
  readonly properties?: Readonly<Record<string, ResolvedSchema>>;
  readonly items?: ResolvedSchema;
  readonly additionalProperties?: ResolvedSchema | boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
};

/**
 * Puts the built-in definitions that a schema refers to in the places of the references; one that contains itself becomes an empty object.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/cel/openapi/resolver/refs.go, `PopulateRefs`.
 *
 * @param outer - definitions around the schema
 */
export function resolveReferences(schema: OpenApiSchema, outer: readonly string[] = []): ResolvedSchema {
  const definition = referredDefinition(schema);
  if (definition !== undefined) {
    const referred = outer.includes(definition) ? undefined : openApiDefinitions()[definition];
    return referred === undefined ? { type: "object" } : resolveReferences(referred, [...outer, definition]);
  }
  const { properties, items, additionalProperties, $ref: _none, ...own } = schema;
  return {
    ...own,
    // Built-in types have the format, and custom resources the extension.
    ...(schema.format === "int-or-string" ? { "x-kubernetes-int-or-string": true } : {}),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, resolveReferences(property, outer)])),
        }),
    ...(items === undefined ? {} : { items: resolveReferences(items, outer) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === "object" ? resolveReferences(additionalProperties, outer) : additionalProperties,
        }),
  };
}
