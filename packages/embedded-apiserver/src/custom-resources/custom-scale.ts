import { badRequest, internalError, plainFailure } from "../errors/api-status-error.ts";
import { cloneJson, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { ApiObject, CustomKind, FieldError } from "../kinds/kind.ts";
import { fieldsOfPath, nestedInteger, nestedString } from "./nested-fields.ts";

type ScalePaths = NonNullable<CustomKind["scale"]>;

/** Replicas of a Scale whose custom resource has none, which an update must replace. Source: etcd.go, `invalidSpecReplicas`. */
const noReplicas = -(2 ** 31);
const maxReplicas = 2 ** 31 - 1;

/**
 * Builds the `autoscaling/v1` Scale of a custom resource.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/registry/customresource/etcd.go, `scaleFromCustomResource`.
 *
 * @throws ApiStatusError 500 if a field has another type
 */
export function customScaleOf(object: Readonly<ApiObject>, paths: ScalePaths): JsonObject {
  const replicas = foundReplicas(object, paths) ?? 0;
  return scaleWith(object, paths, replicas === 0 ? {} : { replicas });
}

/**
 * Scale for a client that reads it.
 *
 * @throws ApiStatusError 500 if the custom resource has no number of replicas
 */
export function readCustomScale(object: Readonly<ApiObject>, paths: ScalePaths): JsonObject {
  if (foundReplicas(object, paths) === undefined)
    throw internalError(`the spec replicas field ${JSON.stringify(paths.specReplicasPath)} does not exist`);
  return customScaleOf(object, paths);
}

/** Scale that an update changes. Its replicas tell whether the custom resource has a number of them. */
export function customScaleToChange(object: Readonly<ApiObject>, paths: ScalePaths): JsonObject {
  const isThere = foundReplicas(object, paths) !== undefined;
  return isThere ? customScaleOf(object, paths) : scaleWith(object, paths, { replicas: noReplicas });
}

function foundReplicas(object: Readonly<ApiObject>, { specReplicasPath }: ScalePaths): number | undefined {
  return int32(orThrow(nestedInteger(object, specReplicasPath)));
}

function scaleWith(object: Readonly<ApiObject>, { statusReplicasPath, labelSelectorPath = "" }: ScalePaths, spec: JsonObject): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = int32(orThrow(nestedInteger(object, statusReplicasPath))) ?? 0;
  const selector = labelSelectorPath === "" ? "" : (orThrow(nestedString(object, labelSelectorPath)) ?? "");
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec,
    status: { replicas, ...(selector === "" ? {} : { selector }) },
  };
}

/** Go cuts an integer to the bits of the field that it is converted for. */
function int32(value: number | bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(BigInt.asIntN(32, BigInt(value)));
}

function orThrow<T>(found: T | { readonly problem: string }): T {
  if (typeof found === "object" && found !== null && "problem" in found) throw plainFailure(found.problem);
  return found;
}

/** Copies a custom resource with a new number of replicas. @throws ApiStatusError 400 or 500 */
export function withCustomReplicas(object: Readonly<ApiObject>, { specReplicasPath }: ScalePaths, replicas: number): ApiObject {
  if (replicas === noReplicas) throw badRequest(`the spec replicas field ${JSON.stringify(specReplicasPath)} cannot be empty`);
  const copy = cloneJson(object) as ApiObject;
  const names = fieldsOfPath(specReplicasPath);
  const last = names.pop() ?? "";
  let place: JsonObject = copy;
  for (const [index, name] of names.entries()) {
    const next = (place[name] ??= {});
    if (!isJsonObject<JsonValue>(next)) {
      const path = names.slice(0, index + 1).join(".");
      throw plainFailure(`value cannot be set because .${path} is not a map[string]interface {}`);
    }
    place = next;
  }
  place[last] = replicas;
  return copy;
}

/**
 * Problems of the fields from which the Scale of a custom resource is built.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/registry/customresource/validator.go, `ValidateScaleSpec` and `ValidateScaleStatus`.
 */
export function scaleErrors(
  object: Readonly<ApiObject>,
  { specReplicasPath, statusReplicasPath, labelSelectorPath }: ScalePaths,
): FieldError[] {
  const selector = labelSelectorPath === undefined ? undefined : nestedString(object, labelSelectorPath);
  return [
    ...replicasErrors(object, specReplicasPath),
    ...replicasErrors(object, statusReplicasPath),
    ...(typeof selector === "object" ? [invalid(labelSelectorPath ?? "", '""', selector.problem)] : []),
  ];
}

function replicasErrors(object: Readonly<ApiObject>, path: string): FieldError[] {
  const replicas = nestedInteger(object, path) ?? 0;
  if (typeof replicas === "object") return [invalid(path, "0", replicas.problem)];
  if (replicas < 0) return [invalid(path, String(replicas), "should be a non-negative integer")];
  return replicas > maxReplicas ? [invalid(path, String(replicas), `should be less than or equal to ${maxReplicas}`)] : [];
}

function invalid(field: string, value: string, problem: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${value}: ${problem}` };
}
