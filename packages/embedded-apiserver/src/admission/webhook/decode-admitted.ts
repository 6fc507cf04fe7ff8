import { equalJson, isJsonObject, type JsonObject } from "../../json/json-value.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { decode, type Decoded } from "../../kinds/schema/decode.ts";
import { isPathElement } from "../../managed-fields/path-element.ts";

/** Types of the bodies of subresources. */
const bodySchemas: Readonly<Record<string, string>> = {
  "autoscaling/v1 Scale": "io.k8s.api.autoscaling.v1.Scale",
  "v1 Binding": "io.k8s.api.core.v1.Binding",
  "policy/v1 Eviction": "io.k8s.api.policy.v1.Eviction",
  "authentication.k8s.io/v1 TokenRequest": "io.k8s.api.authentication.v1.TokenRequest",
};

/** Result of {@link decodeAdmitted}. */
export interface Admitted {
  readonly object: ApiObject;
  /** Problem with the new `metadata.managedFields`, which were dropped for the old ones. */
  readonly managedFieldsProblem: string | undefined;
  /** Paths of fields that the type does not have, which were dropped. */
  readonly unknownFields: readonly string[];
}

/** Warning of {@link Admitted.managedFieldsProblem}. */
export function managedFieldsWarning(problem: string): string {
  return `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${problem}`;
}

/**
 * Decodes an object that a webhook or a policy has changed, and applies defaults again. Unknown fields are dropped.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/mutating/dispatcher.go and pkg/endpoints/handlers/fieldmanager/admission.go.
 *
 * @param before - the object before the change
 * @throws DecodeError if a field has the wrong type
 */
export function decodeAdmitted(kind: Kind, before: Readonly<ApiObject>, patched: JsonObject): Admitted {
  const type = `${before.apiVersion} ${before.kind}`;
  const isBody = kind.custom === undefined ? before.kind !== kind.kind : bodySchemas[type] !== undefined;
  const schema = isBody ? bodySchemas[type] : kind.schema;
  const { object: decoded, unknownFields } = decodeFields(isBody ? undefined : kind, schema, patched);
  const { kind: given, apiVersion: _version, metadata, ...rest } = decoded;
  delete (metadata as { managedFields?: unknown } | undefined)?.managedFields;
  const object = {
    // That of a custom resource is validated with the object.
    kind: !isBody && kind.custom !== undefined && typeof given === "string" && given !== "" ? given : before.kind,
    apiVersion: before.apiVersion,
    ...(metadata === undefined ? {} : { metadata }),
    ...rest,
  } as ApiObject;
  if (!isBody) kind.applyDefaults?.(object);
  const managedFieldsProblem = keepManagedFields(object, before, patched);
  return { object, managedFieldsProblem, unknownFields };
}

function withoutManagers(object: JsonObject): JsonObject {
  if (!isJsonObject(object["metadata"])) return object;
  const { managedFields: _managers, ...metadata } = object["metadata"];
  return { ...object, metadata };
}

function decodeFields(kind: Kind | undefined, schema: string | undefined, patched: JsonObject): Decoded {
  // Objects of custom resources are not decoded into a type; unknown fields are pruned.
  if (kind?.custom !== undefined) return { object: kind.custom.decode(withoutManagers(patched)).object, unknownFields: [] };
  return schema === undefined ? { object: patched, unknownFields: [] } : decode(schema, patched);
}

/** Keeps the managed fields of before if the new ones are malformed. Nobody is told of a path that cannot be read. */
function keepManagedFields(object: ApiObject, before: Readonly<ApiObject>, patched: JsonObject): string | undefined {
  const old = (before.metadata as { managedFields?: unknown } | undefined)?.managedFields;
  const wanted = isJsonObject(patched["metadata"]) ? patched["metadata"]["managedFields"] : undefined;
  if (object.metadata === undefined) return undefined;
  const problem = wanted === undefined || wanted === null ? undefined : managedFieldsProblemOf(wanted);
  const kept = problem !== undefined || equalJson(old, wanted) || hasUnreadablePath(wanted) ? old : wanted;
  if (kept !== undefined && kept !== null && !equalJson(kept, [])) (object.metadata as { managedFields?: unknown }).managedFields = kept;
  return problem;
}

function hasUnreadablePath(fields: unknown): boolean {
  return Array.isArray(fields) && fields.some((entry: { readonly fieldsV1?: unknown }) => !isReadable(entry.fieldsV1 ?? {}));
}

function isReadable(fields: unknown): boolean {
  if (!isJsonObject(fields)) return false;
  return Object.entries(fields).every(([element, child]) => (isPathElement(element) || !/^[kvi]:/.test(element)) && isReadable(child));
}

/** Source: k8s.io/apimachinery v0.36.3 pkg/util/managedfields/internal/managedfields.go, `DecodeManagedFields`. */
function managedFieldsProblemOf(fields: unknown): string | undefined {
  if (!Array.isArray(fields)) return "managed fields are not a list";
  for (const [index, entry] of (fields as readonly unknown[]).entries()) {
    const { operation, fieldsType = "", apiVersion = "" } = isJsonObject(entry) ? entry : {};
    if (operation !== "Apply" && operation !== "Update") return "operation must be `Apply` or `Update`";
    if (apiVersion === "") return "apiVersion must not be empty";
    if (fieldsType === "") return `missing fieldsType in managed fields entry ${index}`;
    if (fieldsType !== "FieldsV1") return `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`;
  }
  return undefined;
}
