import { readFileSync } from "node:fs";
import type { JsonValue } from "../../json/json-value.ts";
import { once } from "./once.ts";

/** A type of the API: the JSON of its values, and how lists are merged. */
export type TypeSchema =
  | StructSchema
  | { readonly type: "map"; readonly values: TypeSchema }
  | { readonly type: "array"; readonly items: TypeSchema }
  | { readonly type: "integer"; readonly bits: 32 | 64 }
  /** A JSON schema, a list of them, or something else; source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apis/apiextensions/v1/marshal.go. */
  | { readonly type: "schemaOrOther" }
  | {
      readonly type: "string" | "boolean" | "number" | "bytes" | "time" | "microTime" | "quantity" | "intOrString" | "any";
      /** Name of the type in errors; default: that of the JSON type. */
      readonly goType?: string;
    };

export interface StructSchema {
  readonly type: "struct";
  /** OpenAPI definition, such as `io.k8s.api.core.v1.PodSpec`. */
  readonly definition: string;
  readonly fields: ReadonlyMap<string, FieldSchema>;
}

export interface FieldSchema {
  readonly schema: TypeSchema;
  /** Whether the server distinguishes an empty value from an absent one. */
  readonly isPointer: boolean;
  /** Whether the server writes the field even if it is empty. */
  readonly isAlwaysWritten: boolean;
  /** Strategies of a strategic merge patch: `merge`, `replace`, `retainKeys`; empty for replace. */
  readonly patchStrategies: readonly string[];
  /** Field that identifies the items of a merged list. */
  readonly patchMergeKey: string | undefined;
}

/** Schema in an OpenAPI document. */
export interface OpenApiSchema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly items?: OpenApiSchema;
  readonly allOf?: readonly OpenApiSchema[];
  readonly $ref?: string;
  readonly default?: JsonValue;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
  /** Fields of a custom resource that field selectors may name. */
  readonly "x-kubernetes-selectable-fields"?: readonly { readonly fieldPath: string }[];
  /** Kinds of which this is the type; absent for the types of their fields. */
  readonly "x-kubernetes-group-version-kind"?: readonly GroupVersionKind[];
}

/** Identity of a kind. */
export interface GroupVersionKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface SchemaFile {
  readonly schemas: Readonly<Record<string, OpenApiSchema>>;
  readonly wire: Readonly<Record<string, { readonly pointer?: readonly string[]; readonly always?: readonly string[] }>>;
}

/** Loaded when a schema is first used, to keep the server's start fast. */
const schemaFile = once((): SchemaFile => JSON.parse(readFileSync(new URL("../../../data/openapi-schemas.json", import.meta.url), "utf8")));
const structs = new Map<string, StructSchema>();

/** All definitions of the OpenAPI documents. */
export function openApiDefinitions(): Readonly<Record<string, OpenApiSchema>> {
  return schemaFile().schemas;
}

const definitionsByKind = once(
  () =>
    new Map(
      Object.entries(openApiDefinitions()).flatMap(([definition, schema]) =>
        (schema["x-kubernetes-group-version-kind"] ?? []).map((kind): [string, string] => [kindKey(kind), definition]),
      ),
    ),
);

function kindKey({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`;
}

/** Definition of a kind that is built into Kubernetes, such as `io.k8s.api.core.v1.Pod`; `undefined` for other kinds. */
export function builtInDefinition(kind: GroupVersionKind): string | undefined {
  return definitionsByKind().get(kindKey(kind));
}

/**
 * Schema of a definition such as `io.k8s.api.core.v1.Pod`.
 *
 * @throws RangeError if the definition does not exist
 */
export function structSchema(definition: string): StructSchema {
  const known = structs.get(definition);
  if (known !== undefined) return known;
  const openApi = openApiDefinitions()[definition];
  if (openApi === undefined)
    throw new RangeError(`look up the schema of ${definition}: the data file has none; add it to tools/openapi-schemas.ts`);
  const fields = once(() => fieldsOf(definition, openApi));
  const struct: StructSchema = {
    type: "struct",
    definition,
    get fields() {
      return fields();
    },
  };
  structs.set(definition, struct);
  return struct;
}

/** Definitions whose `uid` has a type of its own, which errors name. */
const withUidType: ReadonlySet<string> = new Set([
  "io.k8s.api.authentication.v1.BoundObjectReference",
  "io.k8s.api.core.v1.ObjectReference",
  "io.k8s.api.resource.v1.ResourceClaimConsumerReference",
  "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
  "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions",
  "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails",
]);

/** Maps that validation refuses if they are empty, with a message that shows whether they were absent. */
const shownEmpty: ReadonlySet<string> = new Set(["io.k8s.api.core.v1.PersistentVolumeSpec.capacity"]);

function fieldsOf(definition: string, openApi: OpenApiSchema): ReadonlyMap<string, FieldSchema> {
  const { pointer = [], always = [] } = schemaFile().wire[definition] ?? {};
  return new Map(
    Object.entries(openApi.properties ?? {}).map(([name, property]) => [
      name,
      {
        schema: name === "uid" && withUidType.has(definition) ? { type: "string", goType: "types.UID" } : typeOf(property),
        isPointer: pointer.includes(name) || shownEmpty.has(`${definition}.${name}`),
        isAlwaysWritten: always.includes(name),
        patchStrategies: property["x-kubernetes-patch-strategy"]?.split(",") ?? [],
        patchMergeKey: property["x-kubernetes-patch-merge-key"],
      },
    ]),
  );
}

const apiExtensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
/** Definition of the JSON schemas in custom resource definitions. */
export const jsonSchemaDefinition: string = `${apiExtensions}.JSONSchemaProps`;

const quantityDefinition = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const namedTypes: Readonly<Record<string, TypeSchema>> = {
  [quantityDefinition]: { type: "quantity" },
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": { type: "intOrString" },
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": { type: "time" },
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": { type: "microTime" },
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": { type: "any" },
  "io.k8s.apimachinery.pkg.runtime.RawExtension": { type: "any" },
  ...Object.fromEntries(
    ["JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray"].map((name): [string, TypeSchema] => [
      `${apiExtensions}.${name}`,
      { type: "schemaOrOther" },
    ]),
  ),
  [`${apiExtensions}.JSON`]: { type: "any" },
};

/** Definition that a schema stands for; a reference with a description is wrapped in `allOf`. */
export function referredDefinition({ $ref, allOf }: OpenApiSchema): string | undefined {
  const reference = $ref ?? allOf?.[0]?.$ref;
  return reference?.slice(reference.lastIndexOf("/") + 1);
}

function typeOf(openApi: OpenApiSchema): TypeSchema {
  const definition = referredDefinition(openApi);
  if (definition !== undefined) return namedTypes[definition] ?? structSchema(definition);
  switch (openApi.type) {
    case "object":
      return typeof openApi.additionalProperties === "object"
        ? { type: "map", values: typeOf(openApi.additionalProperties) }
        : { type: "any" };
    case "array":
      return { type: "array", items: typeOf(openApi.items ?? {}) };
    case "integer":
      return { type: "integer", bits: openApi.format === "int32" ? 32 : 64 };
    case "string":
      return { type: openApi.format === "byte" ? "bytes" : "string" };
    case "boolean":
    case "number":
      return { type: openApi.type };
    default:
      return { type: "any" };
  }
}
