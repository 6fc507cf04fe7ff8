import { equalJson } from "../../json/json-value.ts";
import type { FieldError } from "../../kinds/kind.ts";
import type { PodSpec } from "../../kinds/pod/pod-fields.ts";
import { podSpecErrors } from "../../kinds/pod/validate-pod-spec.ts";
import { forbiddenField } from "../../kinds/validation/field-errors.ts";
import { updatePodSpec, type PodSpecUpdate } from "./pod-spec-update.ts";

/**
 * Updates `pods/ephemeralcontainers`: adds ephemeral containers and allows no other change.
 *
 * Source: pkg/apis/core/validation/validation.go of Kubernetes v1.36.3, `ValidatePodEphemeralContainersUpdate`.
 *
 * @throws ApiStatusError 404, 409 or 422
 */
export const updateEphemeralContainers: PodSpecUpdate = (context, pod, change, options) =>
  updatePodSpec(context, pod, {
    ...options,
    change,
    pick(wanted, old) {
      const { ephemeralContainers: _old, ...rest } = old;
      const spec: PodSpec = wanted.ephemeralContainers === undefined ? rest : { ...rest, ephemeralContainers: wanted.ephemeralContainers };
      return { spec, errors: [...podSpecErrors(spec, "spec", true), ...lossErrors(spec, old)] };
    },
  });

function lossErrors({ ephemeralContainers = [] }: PodSpec, { ephemeralContainers: old = [] }: PodSpec): FieldError[] {
  return old.flatMap((existing) => {
    const same = ephemeralContainers.find(({ name }) => name === existing.name);
    if (same !== undefined && equalJson(same, existing)) return [];
    const verb = same === undefined ? "removed" : "changed";
    return [
      forbiddenField("spec.ephemeralContainers", `existing ephemeral containers ${JSON.stringify(existing.name)} may not be ${verb}\n`),
    ];
  });
}
