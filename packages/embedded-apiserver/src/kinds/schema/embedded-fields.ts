import type { OpenApiSchema } from "./schema.ts";

/** Schema of a custom resource, which may have embedded objects. */
type EmbeddingSchema = OpenApiSchema & { readonly "x-kubernetes-embedded-resource"?: boolean };

const conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/** Fields of every object within a custom resource, in OpenAPI v3. */
export const embeddedFields: Readonly<Record<string, OpenApiSchema>> = {
  apiVersion: {
    type: "string",
    description: `apiVersion defines the versioned schema of this representation of an object. More info: ${conventions}#resources`,
  },
  kind: {
    type: "string",
    description: `kind is a string value representing the type of this object. In CamelCase. More info: ${conventions}#types-kinds`,
  },
  metadata: {
    allOf: [{ $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" }],
    description: `Standard object's metadata. More info: ${conventions}#metadata`,
  },
};

/** Required fields of an embedded object. @param required - those of its schema */
export function embeddedRequired(required: readonly string[] = []): readonly string[] {
  return [...required, ...["kind", "apiVersion"].filter((name) => !required.includes(name))];
}

/**
 * Adds the type and metadata of embedded objects to a schema of OpenAPI v3.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/controller/openapi/builder/builder.go, `addEmbeddedProperties`.
 */
export function withEmbeddedFields(schema: OpenApiSchema): OpenApiSchema {
  const { properties, items, additionalProperties, required } = schema;
  const isEmbedded = (schema as EmbeddingSchema)["x-kubernetes-embedded-resource"] === true;
  const own = Object.entries(properties ?? {}).map(([name, property]) => [name, withEmbeddedFields(property)] as const);
  return {
    ...schema,
    ...(items === undefined ? {} : { items: withEmbeddedFields(items) }),
    ...(typeof additionalProperties === "object" ? { additionalProperties: withEmbeddedFields(additionalProperties) } : {}),
    ...(properties === undefined && !isEmbedded
      ? {}
      : { properties: { ...Object.fromEntries(own), ...(isEmbedded ? embeddedFields : {}) } }),
    ...(isEmbedded ? { required: embeddedRequired(required) } : {}),
  };
}
