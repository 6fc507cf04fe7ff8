import { invalid } from "../api-status-error.ts";
import { equalJson } from "../json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import type { StoredObject } from "../storage.ts";
import type { ObjectAddress, RestContext } from "./rest-context.ts";
import { updateObject, type UpdateOptions } from "./update.ts";

/** A list of containers of a pod's spec. */
type Containers = { name: string; resources?: unknown; resizePolicy?: unknown }[];

/**
 * Writes `pods/ephemeralcontainers`: new ephemeral containers may be added, nothing else changes.
 *
 * Source: pkg/registry/core/pod/strategy.go of Kubernetes v1.36.3, `podEphemeralContainersStrategy`.
 *
 * @throws ApiStatusError 404, 409 or 422
 */
export function updateEphemeralContainers(
  context: RestContext,
  pod: ObjectAddress,
  change: (object: Readonly<ApiObject>) => ApiObject,
  options: UpdateOptions,
): StoredObject {
  return updateSpec(context, pod, options, (old) => {
    const wanted = change(old);
    const containers: Containers = wanted["spec"]?.ephemeralContainers ?? [];
    const errors = ephemeralErrors(containers, old["spec"]?.ephemeralContainers ?? []);
    if (errors.length > 0) throw invalid(pod.kind, pod.name, errors);
    return { wanted, spec: { ...old["spec"], ephemeralContainers: containers } };
  });
}

function ephemeralErrors(containers: Containers, old: Containers): FieldError[] {
  const field = "spec.ephemeralContainers";
  return old.flatMap((existing): FieldError[] => {
    const same = containers.find(({ name }) => name === existing.name);
    if (same !== undefined && equalJson(same, existing)) return [];
    const verb = same === undefined ? "removed" : "changed";
    return [
      {
        field,
        reason: "FieldValueForbidden",
        message: `Forbidden: existing ephemeral containers ${JSON.stringify(existing.name)} may not be ${verb}\n`,
      },
    ];
  });
}

/**
 * Writes `pods/resize`: the containers' resources and resize policies, nothing else.
 *
 * Source: the same file, `podResizeStrategy`.
 *
 * @throws ApiStatusError 404, 409 or 422
 */
export function resizePod(
  context: RestContext,
  pod: ObjectAddress,
  change: (object: Readonly<ApiObject>) => ApiObject,
  options: UpdateOptions,
): StoredObject {
  return updateSpec(context, pod, options, (old) => {
    const wanted = change(old);
    const spec = { ...old["spec"] };
    for (const list of ["containers", "initContainers"] as const) {
      if (spec[list] !== undefined || wanted["spec"]?.[list] !== undefined)
        spec[list] = resized(pod, list, { containers: wanted["spec"]?.[list] ?? [], old: spec[list] ?? [] });
    }
    return { wanted, spec };
  });
}

function resized(pod: ObjectAddress, list: string, { containers, old }: { containers: Containers; old: Containers }): Containers {
  if (containers.length !== old.length || containers.some(({ name }, index) => name !== old[index]?.name)) {
    const message = "Forbidden: only cpu and memory resources are mutable";
    throw invalid(pod.kind, pod.name, [{ field: `spec.${list}`, reason: "FieldValueForbidden", message }]);
  }
  return old.map((container, index) => {
    const { resources, resizePolicy } = containers[index] ?? container;
    return { ...container, ...(resources === undefined ? {} : { resources }), ...(resizePolicy === undefined ? {} : { resizePolicy }) };
  });
}

function updateSpec(
  context: RestContext,
  pod: ObjectAddress,
  options: UpdateOptions,
  change: (old: Readonly<ApiObject>) => { wanted: ApiObject; spec: unknown },
): StoredObject {
  const changed = (old: Readonly<ApiObject>): ApiObject => {
    const { wanted, spec } = change(old);
    const generation = equalJson(spec, old["spec"]) ? old.metadata.generation : (old.metadata.generation ?? 0) + 1;
    const { resourceVersion, uid } = wanted.metadata;
    return { ...old, metadata: { ...old.metadata, resourceVersion, uid, ...(generation === undefined ? {} : { generation }) }, spec };
  };
  return updateObject(context, pod, changed, { ...options, scope: "all" });
}
