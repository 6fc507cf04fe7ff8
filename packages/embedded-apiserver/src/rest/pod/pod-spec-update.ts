import { invalid } from "../../errors/api-status-error.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../../kinds/kind.ts";
import type { PodSpec } from "../../kinds/pod/pod-fields.ts";
import type { StoredObject } from "../../storage/storage.ts";
import { metadataUpdateErrors } from "../metadata.ts";
import type { ObjectAddress, RestContext } from "../rest-context.ts";
import type { Steps } from "../steps.ts";
import { updateObject, type UpdateOptions } from "../update.ts";

/** Result of a subresource's change to a pod's spec. */
export interface PodSpecChange {
  readonly spec: PodSpec;
  readonly errors: readonly FieldError[];
}

/** Update of a subresource that writes part of a pod's spec. */
export type PodSpecUpdate = (
  context: RestContext,
  pod: ObjectAddress,
  change: (object: Readonly<ApiObject>) => ApiObject,
  options: UpdateOptions,
) => Steps<StoredObject>;

/**
 * Updates part of a pod's spec. Labels, annotations, finalizers and status are kept.
 *
 * Source: pkg/registry/core/pod/strategy.go of Kubernetes v1.36.3, `podResizeStrategy` and its sibling.
 *
 * @param change - returns the requested pod
 * @param pick - selects the part that the subresource writes
 * @throws ApiStatusError 404, 409 or 422
 */
export function updatePodSpec(
  context: RestContext,
  pod: ObjectAddress,
  {
    change,
    pick,
    ...options
  }: UpdateOptions & { change: (object: Readonly<ApiObject>) => ApiObject; pick: (wanted: PodSpec, old: PodSpec) => PodSpecChange },
): Steps<StoredObject> {
  const changed = (old: Readonly<ApiObject>): ApiObject => {
    const wanted = change(old);
    const { spec, errors } = pick(wanted["spec"], old["spec"]);
    const metadata = { ...old.metadata, resourceVersion: wanted.metadata.resourceVersion };
    if (wanted.metadata.uid) metadata.uid = wanted.metadata.uid;
    if (!equalJson(spec, old["spec"])) metadata.generation = (old.metadata.generation ?? 0) + 1;
    const problems = [...metadataUpdateErrors(metadata, old.metadata), ...errors];
    if (problems.length > 0) throw invalid(pod.kind, pod.name, problems);
    return { ...old, metadata, spec };
  };
  return updateObject(context, pod, changed, { ...options, scope: "all" });
}
