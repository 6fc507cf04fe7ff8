import type { OpenApiSchema } from "../kinds/schema/schema.ts";
import { openApiDefinitions } from "../kinds/schema/schema.ts";
import type { ApiResource } from "./api-resources.ts";

type DescribedKind = ApiResource["kind"];

/** Has the descriptions of `apiVersion` and `kind` that all kinds have. */
const podDefinition = "io.k8s.api.core.v1.Pod";
const conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/** Name of the definition of a kind's lists. */
export function listDefinitionName({ schema, kind, custom }: DescribedKind): string {
  return schema.replace(/[^.]+$/, custom?.listKind ?? `${kind}List`);
}

/**
 * Definition of a kind's lists, in version 3.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/controller/openapi/builder/builder.go, `buildListSchema`.
 */
export function listDefinition(described: DescribedKind): [name: string, schema: OpenApiSchema] {
  const { group, version, kind, plural, schema, custom } = described;
  const listKind = custom?.listKind ?? `${kind}List`;
  const { apiVersion = {}, kind: kindProperty = {} } = openApiDefinitions()[podDefinition]?.properties ?? {};
  const selectable = custom?.openApi["x-kubernetes-selectable-fields"];
  return [
    listDefinitionName(described),
    {
      description: `${listKind} is a list of ${kind}`,
      type: "object",
      required: ["items"],
      properties: {
        apiVersion,
        items: {
          description: `List of ${plural}. More info: ${conventions}`,
          type: "array",
          items: { allOf: [{ $ref: `#/components/schemas/${schema}` }] },
        },
        kind: kindProperty,
        metadata: {
          description: `Standard list metadata. More info: ${conventions}#types-kinds`,
          allOf: [{ $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta" }],
        },
      },
      "x-kubernetes-group-version-kind": [{ group, kind: listKind, version }],
      ...(selectable === undefined ? {} : { "x-kubernetes-selectable-fields": selectable }),
    },
  ];
}
