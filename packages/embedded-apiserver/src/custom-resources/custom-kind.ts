import { forbidden } from "../errors/api-status-error.ts";
import { cloneJson, equalJson, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { ApiObject, CustomKind, Kind } from "../kinds/kind.ts";
import { decode, DecodeError, type Decoded } from "../kinds/schema/decode.ts";
import { once } from "../kinds/schema/once.ts";
import type { OpenApiSchema } from "../kinds/schema/schema.ts";
import type { CrdSpec, CrdVersion, JsonSchema } from "./crd-fields.ts";
import { customColumns } from "./custom-columns.ts";
import { compileJsonPath } from "../json/json-path.ts";
import { deprecationOf } from "./deprecation.ts";
import { decodeEmbeddedObjects, dropMalformedTypes, mayEmbedObjects } from "./embedded-objects.ts";
import { applySchemaDefaults, hasDefaults, prune, pruneNulls } from "./prune-and-default.ts";
import { customErrors, finalizerWarnings } from "./validate-custom.ts";

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/**
 * Creates the {@link Kind} of one version of a custom resource.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/customresource_handler.go and pkg/registry/customresource.
 *
 * @param isTerminating - whether the definition is being deleted, so that objects can no longer be created
 * @param isChanged - whether objects may have been stored with an earlier spec of the definition
 */
export function customKind(spec: CrdSpec, version: CrdVersion, isTerminating: () => boolean, isChanged = false): Kind {
  const { group, names, scope, versions } = spec;
  const schema = version.schema?.openAPIV3Schema ?? {};
  const stored = versions?.find(({ storage }) => storage) ?? version;
  const hasStatus = version.subresources?.status !== undefined;
  const scale = version.subresources?.scale;
  const deprecation = deprecationOf(spec, version);
  const embedsObjects = mayEmbedObjects(schema);
  const custom: CustomKind = {
    listKind: names.listKind ?? `${names.kind}List`,
    decode: (body, keepsNulls = false) =>
      (body["kind"] ?? names.kind) === names.kind ? decodeCustom(body, { schema, embedsObjects }, keepsNulls) : decodeOther(body),
    isTerminating,
    unservedVersions: once(() =>
      (versions ?? []).filter(({ served }) => !served).map((other) => customKind(spec, other, isTerminating, isChanged)),
    ),
    openApi: openApiOf({ group, version: version.name, kind: names.kind }, schema, version.selectableFields),
    ...(scale === undefined ? {} : { scale }),
  };
  return {
    group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    ...(names.shortNames === undefined ? {} : { shortNames: names.shortNames }),
    ...(names.categories === undefined ? {} : { categories: names.categories }),
    namespaced: scope === "Namespaced",
    ...(deprecation === undefined ? {} : { deprecation }),
    schema: definitionName({ group, version: version.name, kind: names.kind }),
    hasGeneration: true,
    hasStatus,
    hasScale: scale !== undefined,
    storageVersion: stored.name,
    ...(stored === version
      ? {}
      : { conversion: { fromStorage: inSchema(schema), toStorage: inSchema(stored.schema?.openAPIV3Schema ?? {}) } }),
    custom,
    ...completion({ group, versions }, isChanged),
    prepareForCreate(object) {
      if (isTerminating())
        throw forbidden(
          { group, plural: names.plural },
          object.metadata.name,
          "create not allowed while custom resource definition is terminating",
        );
      if (hasStatus) delete object["status"];
    },
    prepareForUpdate(object, old) {
      if (!equalJson(counted(object, hasStatus), counted(old, hasStatus))) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
    },
    validate: customErrors(schema, scale),
    warnings: finalizerWarnings,
    fieldSelectors: Object.fromEntries(
      (version.selectableFields ?? []).map(({ jsonPath }) => {
        const find = compileJsonPath(jsonPath);
        return [jsonPath.replace(/^\./, ""), (object: ApiObject): string => String(find(object) ?? "")];
      }),
    ),
    columns: customColumns(version.additionalPrinterColumns),
  };
}

/**
 * Form of stored objects by today's schema of the version in which they are stored: without fields that it does not have any more, and with
 * its defaults. Objects of a definition that has not changed have been pruned when they were written.
 *
 * Source: customresource_handler.go, `schemaCoercingDecoder` and `unstructuredDefaulter`.
 */
function completion({ group, versions }: Pick<CrdSpec, "group" | "versions">, isChanged: boolean): Pick<Kind, "completeStored"> {
  const schemas = new Map<string, JsonSchema>();
  for (const { name, schema } of versions ?? [])
    if (schema?.openAPIV3Schema !== undefined && (isChanged || hasDefaults(schema.openAPIV3Schema)))
      schemas.set(`${group}/${name}`, schema.openAPIV3Schema);
  if (schemas.size === 0) return {};
  return {
    completeStored(stored) {
      const schema = schemas.get(stored.apiVersion);
      if (schema === undefined) return stored;
      const { metadata, ...fields } = stored;
      const result = cloneJson(fields) as JsonObject;
      if (isChanged) {
        prune(result, schema, []);
        dropMalformedTypes(result, schema);
      }
      applySchemaDefaults(result, schema);
      pruneNulls(result, schema);
      return equalJson(result, fields) ? stored : ({ ...result, metadata: { ...metadata } } as unknown as ApiObject);
    },
  };
}

/** Drops what a version's schema does not have. Source: customresource_handler.go, `schemaCoercingConverter`. */
export function inSchema(schema: JsonSchema): (object: Readonly<ApiObject>) => ApiObject {
  const embedsObjects = mayEmbedObjects(schema);
  return ({ metadata, ...fields }) => {
    const result = cloneJson(fields) as JsonObject;
    prune(result, schema, []);
    pruneNulls(result, schema);
    if (embedsObjects) decodeEmbeddedObjects(result, schema, true);
    return { ...result, metadata: { ...metadata } } as unknown as ApiObject;
  };
}

/** Fields whose changes increment the generation. */
function counted({ metadata: _metadata, status, ...rest }: Readonly<ApiObject>, hasStatus: boolean): object {
  return hasStatus ? rest : { ...rest, status };
}

/** How the objects of a version are decoded. */
interface CustomSchema {
  readonly schema: JsonSchema;
  readonly embedsObjects: boolean;
}

function decodeCustom(body: Readonly<Record<string, JsonValue>>, { schema, embedsObjects }: CustomSchema, keepsNulls: boolean): Decoded {
  const unknownFields: string[] = [];
  const object = cloneJson(body) as JsonObject;
  const metadata = keepsNulls ? decodeApplied(object["metadata"]) : decode(objectMeta, object["metadata"] ?? {});
  if (!keepsNulls) pruneNulls(object, schema);
  prune(object, schema, unknownFields);
  applySchemaDefaults(object, schema);
  if (embedsObjects) unknownFields.push(...decodeEmbeddedObjects(object, schema, keepsNulls));
  unknownFields.push(...metadata.unknownFields.map((path) => `metadata.${path}`));
  return { object: { ...object, metadata: metadata.object }, unknownFields };
}

/**
 * Metadata that apply has merged: the real server does not decode it, and what it cannot read, such as a malformed time, counts as absent.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1/unstructured/unstructured.go.
 */
function decodeApplied(metadata: JsonValue | undefined): Decoded {
  try {
    return decode(objectMeta, metadata ?? {});
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return decode(objectMeta, Object.fromEntries(Object.entries(metadata ?? {}).filter(isReadable)));
  }
}

function isReadable([field, value]: readonly [string, unknown]): boolean {
  try {
    decode(objectMeta, { [field]: value });
    return true;
  } catch (error) {
    if (error instanceof DecodeError) return false;
    throw error;
  }
}

/** Decodes an object of another kind, which is refused later: the schema does not apply to it. Source: `schemaCoercingDecoder`. */
function decodeOther(body: Readonly<Record<string, JsonValue>>): Decoded {
  const { object, unknownFields } = decode(objectMeta, body["metadata"] ?? {});
  return { object: { ...cloneJson(body), metadata: object }, unknownFields: unknownFields.map((path) => `metadata.${path}`) };
}

/** Name of a schema in OpenAPI documents: the parts of the group in reverse order. */
function definitionName({ group, version, kind }: { readonly group: string; readonly version: string; readonly kind: string }): string {
  return [...group.split(".").toReversed(), version, kind].join(".");
}

const conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/** Schema of OpenAPI v3. Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/controller/openapi/builder/builder.go, `buildKubeNative`. */
function openApiOf(
  type: { readonly group: string; readonly version: string; readonly kind: string },
  schema: JsonSchema,
  selectableFields: CrdVersion["selectableFields"] = [],
): OpenApiSchema {
  const reference = { allOf: [{ $ref: `#/components/schemas/${objectMeta}` }] };
  return {
    ...(schema as OpenApiSchema),
    properties: {
      ...(schema.properties as OpenApiSchema["properties"]),
      apiVersion: {
        type: "string",
        description: `APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: ${conventions}#resources`,
      },
      kind: {
        type: "string",
        description: `Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: ${conventions}#types-kinds`,
      },
      metadata: { description: `Standard object's metadata. More info: ${conventions}#metadata`, ...reference },
    },
    "x-kubernetes-group-version-kind": [type],
    ...(selectableFields.length === 0
      ? {}
      : { "x-kubernetes-selectable-fields": selectableFields.map(({ jsonPath }) => ({ fieldPath: jsonPath.replace(/^\./, "") })) }),
  };
}
