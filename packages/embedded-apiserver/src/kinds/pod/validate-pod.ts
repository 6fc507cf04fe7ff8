import type { ApiObject, FieldError } from "../kind.ts";
import { forbiddenField, invalidValue } from "../validation/field-errors.ts";
import type { PodSpec } from "./pod-fields.ts";
import { imageSpaceErrors } from "./validate-containers.ts";
import { podSpecErrors } from "./validate-pod-spec.ts";
import { podStatusErrors } from "./validate-pod-status.ts";
import { podSpecUpdateErrors } from "./validate-pod-update.ts";

const mirrorAnnotation = "kubernetes.io/config.mirror";
const costAnnotation = "controller.kubernetes.io/pod-deletion-cost";

/** Source: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidatePodCreate and related functions. */
export function podErrors(pod: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: PodSpec = pod["spec"];
  // A status update keeps the spec, which has already been validated.
  if (old !== undefined && old["spec"] === spec)
    return [...annotationUpdateErrors(pod, old), ...podStatusErrors(pod["status"], old["status"], spec)];
  const errors = [...annotationErrors(pod), ...podSpecErrors(spec, "spec", true), ...tokenErrors(spec)];
  if (old !== undefined)
    return [...errors, ...imageErrors(spec), ...annotationUpdateErrors(pod, old), ...podSpecUpdateErrors(spec, old["spec"], "spec")];
  if (spec.ephemeralContainers !== undefined) errors.push(forbiddenField("spec.ephemeralContainers", "cannot be set on create"));
  if (spec.nodeName !== undefined && spec.schedulingGates !== undefined)
    errors.push(forbiddenField("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
  return [...errors, ...imageErrors(spec)];
}

function imageErrors(spec: PodSpec): FieldError[] {
  return [
    ...imageSpaceErrors(spec.containers ?? [], "spec.containers"),
    ...imageSpaceErrors(spec.initContainers ?? [], "spec.initContainers"),
  ];
}

function tokenErrors({ serviceAccountName, volumes = [] }: PodSpec): FieldError[] {
  if (serviceAccountName !== undefined) return [];
  return volumes.flatMap(({ projected }, index) =>
    (projected?.sources ?? []).flatMap((source, at) =>
      source.serviceAccountToken === undefined
        ? []
        : [
            forbiddenField(
              `spec.volumes[${index}].projected.sources[${at}].serviceAccountToken`,
              "must not be specified when serviceAccountName is not set",
            ),
          ],
    ),
  );
}

function annotationErrors({ metadata, ...pod }: ApiObject): FieldError[] {
  const { [mirrorAnnotation]: mirror, [costAnnotation]: cost } = metadata.annotations ?? {};
  const errors: FieldError[] = [];
  if (mirror !== undefined && pod["spec"].nodeName === undefined) {
    errors.push(
      invalidValue(`metadata.annotations[${mirrorAnnotation}]`, mirror, "must set spec.nodeName if mirror pod annotation is set"),
    );
  }
  if (cost !== undefined && !/^-?(0|[1-9]\d*)$/.test(cost))
    errors.push(invalidValue(`metadata.annotations[${costAnnotation}]`, cost, "must be a 32bit integer"));
  return errors;
}

function annotationUpdateErrors({ metadata }: ApiObject, { metadata: old }: ApiObject): FieldError[] {
  const [now, before] = [metadata.annotations?.[mirrorAnnotation], old.annotations?.[mirrorAnnotation]];
  if (now === before) return [];
  return [
    forbiddenField(
      `metadata.annotations[${mirrorAnnotation}]`,
      before === undefined ? "may not add mirror pod annotation" : "may not remove or update mirror pod annotation",
    ),
  ];
}
