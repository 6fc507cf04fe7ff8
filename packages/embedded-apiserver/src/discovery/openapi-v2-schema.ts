import { embeddedFields, embeddedRequired } from "../kinds/schema/embedded-fields.ts";
import type { OpenApiSchema } from "../kinds/schema/schema.ts";

/** Schema of an OpenAPI v2 document. */
export type OpenApiV2Schema = Readonly<Record<string, unknown>>;

const v3Prefix = "#/components/schemas/";
const v2Prefix = "#/definitions/";

/** Types that are one of several in version 3 and a string in version 2. */
const stringTypes: ReadonlySet<string> = new Set([
  "io.k8s.apimachinery.pkg.api.resource.Quantity",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
]);

/**
 * Schema of a built-in type in version 2: references of one schema are not wrapped, and there are no defaults.
 *
 * Source: k8s.io/kube-openapi pkg/builder/openapi.go.
 */
export function builtInSchema(name: string, schema: OpenApiSchema): OpenApiV2Schema {
  const { oneOf: _oneOf, ...rest } = schema as OpenApiSchema & { readonly oneOf?: unknown };
  return stringTypes.has(name) ? { ...withoutDefaults(rest), type: "string" } : withoutDefaults(schema);
}

function withoutDefaults({
  allOf,
  $ref,
  default: _default,
  properties,
  items,
  additionalProperties,
  ...rest
}: OpenApiSchema): OpenApiV2Schema {
  const reference = $ref ?? allOf?.[0]?.$ref;
  return {
    ...rest,
    ...(reference === undefined ? {} : { $ref: reference.replace(v3Prefix, v2Prefix) }),
    ...(items === undefined ? {} : { items: withoutDefaults(items) }),
    ...(properties === undefined ? {} : { properties: mapValues(properties, withoutDefaults) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties: typeof additionalProperties === "object" ? withoutDefaults(additionalProperties) : additionalProperties,
        }),
  };
}

type CustomSchema = Omit<OpenApiSchema, "properties" | "items" | "additionalProperties"> & {
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, CustomSchema>>;
  readonly items?: CustomSchema;
  readonly additionalProperties?: CustomSchema | boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-selectable-fields"?: unknown;
};

/**
 * Schema of a custom resource in version 2, without what kubectl could not read there.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/controller/openapi/v2/conversion.go, and `buildKubeNative` of builder/builder.go.
 *
 * @param schema - the one of version 3
 */
export function customSchema(schema: OpenApiSchema): OpenApiV2Schema {
  const whole = schema as CustomSchema;
  const extensions = Object.fromEntries(
    (["x-kubernetes-group-version-kind", "x-kubernetes-selectable-fields"] as const).flatMap((name) =>
      whole[name] === undefined ? [] : [[name, whole[name]]],
    ),
  );
  // Not even kind and metadata: kubectl would refuse all other fields.
  if (whole["x-kubernetes-preserve-unknown-fields"] === true) return { type: "object", ...extensions };
  const { metadata, apiVersion, kind, ...own } = whole.properties ?? {};
  const native = mapValues({ apiVersion, kind, metadata } as Record<string, OpenApiSchema>, withoutDefaults);
  const converted = structural({ ...whole, properties: own });
  return { ...converted, properties: { ...(converted["properties"] as object | undefined), ...native } };
}

function structural(schema: CustomSchema): OpenApiV2Schema {
  const { type, nullable, properties, items, additionalProperties, required, ...rest } = plainSchema(schema);
  const keepsUnknown = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const isOpaque = nullable === true || keepsUnknown;
  const shownItems = isOpaque ? undefined : items;
  const isUntyped = nullable === true || (type === "array" && shownItems === undefined) || (type === "object" && keepsUnknown);
  const shown = isOpaque ? undefined : properties;
  const isAnyRequired = typeof additionalProperties !== "object" || additionalProperties.nullable !== true;
  const needed = isAnyRequired ? required?.filter((name) => shown?.[name]?.nullable !== true) : undefined;
  return embedded(schema, {
    ...rest,
    ...(type === undefined || isUntyped ? {} : { type }),
    ...(needed === undefined || needed.length === 0 ? {} : { required: needed }),
    ...(shownItems === undefined ? {} : { items: structural(shownItems) }),
    ...(shown === undefined ? {} : { properties: mapValues(shown, structural) }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: typeof additionalProperties === "object" ? structural(additionalProperties) : additionalProperties }),
  });
}

/** Without defaults and alternatives. */
function plainSchema(schema: CustomSchema): CustomSchema {
  const {
    default: _default,
    allOf: _allOf,
    anyOf: _anyOf,
    oneOf: _oneOf,
    not: _not,
    ...rest
  } = schema as CustomSchema & Record<"anyOf" | "oneOf" | "not", unknown>;
  return rest;
}

/** Adds kind and metadata of an embedded resource, unless it may have any field. */
function embedded(schema: CustomSchema, converted: OpenApiV2Schema): OpenApiV2Schema {
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true && schema["x-kubernetes-preserve-unknown-fields"] !== true;
  if (!isEmbedded) return converted;
  const required = (converted["required"] ?? []) as readonly string[];
  return {
    ...converted,
    properties: { ...(converted["properties"] as object | undefined), ...mapValues(embeddedFields, withoutDefaults) },
    required: embeddedRequired(required),
  };
}

function mapValues<T, U>(values: Readonly<Record<string, T>>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
