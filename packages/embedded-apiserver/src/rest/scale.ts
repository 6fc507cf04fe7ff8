import { badRequest, invalid } from "../errors/api-status-error.ts";
import { cloneJson, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { customScaleOf, withCustomReplicas } from "../custom-resources/custom-scale.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { ObjectAddress, RestContext } from "./rest-context.ts";
import type { Steps } from "./steps.ts";
import { updateObject, type UpdateOptions } from "./update.ts";

/** `autoscaling/v1` Scale of an object, also of a custom resource. */
export function scaleOfKind({ custom }: Kind, object: Readonly<ApiObject>): JsonObject {
  return custom?.scale === undefined ? scaleOf(object) : customScaleOf(object, custom.scale);
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
 * @param change - receives the current Scale and returns the new one
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
      const scale = change(scaleOfKind(address.kind, object));
      if (!isJsonObject(scale)) throw badRequest("the object provided is unrecognized (must be of type Scale): expected a JSON object");
      const wanted = withReplicas(address.kind, object, replicasOf(address, scale));
      const { resourceVersion, uid } = isJsonObject(scale["metadata"]) ? scale["metadata"] : {};
      wanted.metadata.resourceVersion = typeof resourceVersion === "string" ? resourceVersion : "";
      if (typeof uid === "string" && uid !== "") wanted.metadata.uid = uid;
      return wanted;
    },
    options,
  );
  return stored.object;
}

function withReplicas({ custom }: Kind, object: Readonly<ApiObject>, replicas: number): ApiObject {
  if (custom?.scale !== undefined) return withCustomReplicas(object, custom.scale, replicas);
  const wanted = cloneJson(object) as ApiObject;
  wanted["spec"].replicas = replicas;
  return wanted;
}

function replicasOf({ name }: ObjectAddress, scale: JsonObject): number {
  const replicas = (isJsonObject(scale["spec"]) ? scale["spec"]["replicas"] : undefined) ?? 0;
  if (typeof replicas !== "number" || !Number.isInteger(replicas))
    throw badRequest(
      `Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal ${typeof replicas} into Go struct field ScaleSpec.spec.replicas of type int32`,
    );
  if (replicas < 0) {
    const message = `Invalid value: ${replicas}: must be greater than or equal to 0`;
    throw invalid({ group: "autoscaling", kind: "Scale" }, name, [{ field: "spec.replicas", reason: "FieldValueInvalid", message }]);
  }
  return replicas;
}
