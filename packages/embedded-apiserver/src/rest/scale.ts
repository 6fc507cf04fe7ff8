import { apiVersionOf } from "../kinds/api-version.ts";
import { badRequest, invalid, uidConflict } from "../errors/api-status-error.ts";
import { cloneJson, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { customScaleOf, customScaleToChange, readCustomScale, withCustomReplicas } from "../custom-resources/custom-scale.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { required } from "../kinds/validation/field-errors.ts";
import { fieldElement } from "../managed-fields/path-element.ts";
import { decodedScale, managersAfterScale, scaleManagers, scaleType } from "../managed-fields/scale-managers.ts";
import { trackWrite } from "../managed-fields/field-manager.ts";
import { type ObjectAddress, type RestContext } from "./rest-context.ts";
import type { Steps } from "./steps.ts";
import { updateObject, type AdmittedForm, type UpdateOptions } from "./update.ts";

/** `autoscaling/v1` Scale of an object, also of a custom resource. */
export function scaleOfKind({ custom }: Kind, object: Readonly<ApiObject>): JsonObject {
  return custom?.scale === undefined ? scaleOf(object) : customScaleOf(object, custom.scale);
}

/** Scale of an object for a client that reads it. @throws ApiStatusError 500 if a custom resource has no number of replicas */
export function readScale({ custom }: Kind, object: Readonly<ApiObject>): JsonObject {
  return custom?.scale === undefined ? scaleOf(object) : readCustomScale(object, custom.scale);
}

/** `autoscaling/v1` Scale of an object. */
function scaleOf({ metadata, spec, status }: Readonly<ApiObject>): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const selector = selectorText(spec?.selector);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec: typeof spec?.replicas === "number" && spec.replicas !== 0 ? { replicas: spec.replicas } : {},
    status: { replicas: typeof status?.replicas === "number" ? status.replicas : 0, ...(selector === "" ? {} : { selector }) },
  };
}

/** Formats a label selector as in a query. */
function selectorText(selector: unknown): string {
  if (!isJsonObject(selector)) return "";
  // A ReplicationController's selector is a plain map of labels.
  const isPlain = Object.values(selector).every((value) => typeof value === "string");
  if (isPlain)
    return Object.entries(selector)
      .map(([key, value]) => `${key}=${String(value)}`)
      .toSorted()
      .join(",");
  const labels = isJsonObject(selector["matchLabels"])
    ? Object.entries(selector["matchLabels"]).map(([key, value]) => `${key}=${String(value)}`)
    : [];
  const expressions = Array.isArray(selector["matchExpressions"])
    ? selector["matchExpressions"].filter(isJsonObject<JsonValue>).map(expressionText)
    : [];
  return [...labels, ...expressions].toSorted().join(",");
}

function expressionText(expression: JsonObject): string {
  const key = String(expression["key"]);
  const values = Array.isArray(expression["values"]) ? expression["values"].map(String).toSorted().join(",") : "";
  switch (expression["operator"]) {
    case "In":
      return `${key} in (${values})`;
    case "NotIn":
      return `${key} notin (${values})`;
    case "DoesNotExist":
      return `!${key}`;
    default:
      return key;
  }
}

/**
 * Updates the `scale` subresource.
 *
 * @param change - receives the current Scale, with the managers of the replicas, and returns the new one
 * @throws ApiStatusError 400, 404, 409 or 422
 */
export function* updateScale(
  context: RestContext,
  address: ObjectAddress,
  change: (scale: JsonObject) => JsonValue,
  options: UpdateOptions,
): Steps<Readonly<ApiObject>> {
  const stored = yield* updateObject(
    context,
    address,
    (object) => {
      const current = withManagers(address.kind, object);
      const scale = change(current);
      if (!isJsonObject(scale)) throw badRequest("the object provided is unrecognized (must be of type Scale): expected a JSON object");
      const wanted = withReplicas(address.kind, object, replicasOf(address, scale));
      const { resourceVersion, uid } = isJsonObject(scale["metadata"]) ? scale["metadata"] : {};
      if (typeof resourceVersion === "string" && resourceVersion !== "") wanted.metadata.resourceVersion = resourceVersion;
      else if (address.kind.custom === undefined) wanted.metadata.resourceVersion = "";
      if (typeof uid === "string" && uid !== "") wanted.metadata.uid = uid;
      setManagers(wanted, object, { scale: managed(context, scale, { current, options }), kind: address.kind });
      return wanted;
    },
    { ...options, isApplied: true, form: scaleForm(address) },
  );
  return stored.object;
}

function withManagers(kind: Kind, object: Readonly<ApiObject>): JsonObject {
  const scale = kind.custom?.scale === undefined ? scaleOf(object) : customScaleToChange(object, kind.custom.scale);
  const managers = scaleManagers(object.metadata.managedFields, replicasPathOf(kind));
  // Entries are JSON, although their type does not say so.
  return managers === undefined
    ? scale
    : { ...scale, metadata: { ...(scale["metadata"] as JsonObject), managedFields: managers as JsonValue } };
}

/** The new Scale with its managers; an apply has set them. */
function managed(
  { clock }: RestContext,
  scale: JsonObject,
  { current, options }: { readonly current: JsonObject; readonly options: UpdateOptions },
): JsonObject {
  if (options.isApplied === true) return scale;
  const { fieldManager: manager = "kube-controller-manager" } = options;
  const tracked = decodedScale(scale);
  trackWrite({ type: scaleType, manager, nowMs: clock.now() }, asObject(current), asObject(tracked));
  return tracked;
}

/** A Scale has all fields that every object has. */
function asObject(scale: JsonObject): ApiObject {
  return scale as JsonObject & ApiObject;
}

function setManagers(
  wanted: ApiObject,
  object: Readonly<ApiObject>,
  { scale, kind }: { readonly scale: JsonObject; readonly kind: Kind },
): void {
  const { managedFields } = scale["metadata"] as JsonObject;
  const after = managersAfterScale(object.metadata.managedFields, managedFields, {
    replicas: replicasPathOf(kind),
    apiVersion: apiVersionOf(kind),
  });
  if (after === undefined) delete wanted.metadata.managedFields;
  else wanted.metadata.managedFields = [...after];
}

function replicasPathOf({ custom }: Kind): string[] {
  const path = custom?.scale?.specReplicasPath ?? ".spec.replicas";
  return path
    .split(".")
    .filter((name) => name !== "")
    .map(fieldElement);
}

function scaleForm(address: ObjectAddress): AdmittedForm {
  return {
    read: (object) => scaleOfKind(address.kind, object) as unknown as ApiObject,
    write: (object, scale) => {
      const { resourceVersion = "" } = address.kind.custom === undefined ? identityOf(address, object, scale) : (scale.metadata ?? {});
      Object.assign(object, withReplicas(address.kind, object, replicasOf(address, scale)));
      if (resourceVersion !== "" || address.kind.custom === undefined) object.metadata.resourceVersion = resourceVersion;
    },
  };
}

/**
 * Metadata of a Scale that admission may have changed.
 *
 * Source: Kubernetes v1.36.3 pkg/registry/apps/replicaset/storage/storage.go, `scaleUpdatedObjectInfo`. That of custom resources checks nothing.
 *
 * @throws ApiStatusError 409 or 422
 */
function identityOf({ kind, name }: ObjectAddress, object: ApiObject, scale: Readonly<ApiObject>): Partial<ApiObject["metadata"]> {
  const metadata = (scale.metadata ?? {}) as Partial<ApiObject["metadata"]>;
  const errors = [
    ...(metadata.name ? [] : [required("metadata.name", "name or generateName is required")]),
    ...(metadata.namespace ? [] : [required("metadata.namespace")]),
  ];
  if (errors.length > 0) throw invalid({ group: "autoscaling", kind: "Scale" }, name, errors);
  const { uid = "" } = metadata;
  if (uid !== "" && uid !== object.metadata.uid)
    throw uidConflict({ group: kind.group, plural: `${kind.plural}/scale` }, name, uid, object.metadata.uid);
  return metadata;
}

function withReplicas({ custom }: Kind, object: Readonly<ApiObject>, replicas: number): ApiObject {
  if (custom?.scale !== undefined) return withCustomReplicas(object, custom.scale, replicas);
  const wanted = cloneJson(object) as ApiObject;
  wanted["spec"].replicas = replicas;
  return wanted;
}

function replicasOf({ kind, name }: ObjectAddress, scale: JsonObject): number {
  const replicas = (isJsonObject(scale["spec"]) ? scale["spec"]["replicas"] : undefined) ?? 0;
  if (typeof replicas !== "number" || !Number.isInteger(replicas))
    throw badRequest(
      `Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal ${typeof replicas} into Go struct field ScaleSpec.spec.replicas of type int32`,
    );
  // The replicas of a custom resource are validated with the object.
  if (replicas < 0 && kind.custom === undefined) {
    const message = `Invalid value: ${replicas}: must be greater than or equal to 0`;
    throw invalid({ group: "autoscaling", kind: "Scale" }, name, [{ field: "spec.replicas", reason: "FieldValueInvalid", message }]);
  }
  return replicas;
}
