import type { FieldError } from "../kind.ts";
import { labelKeyProblems } from "../validation/label-syntax.ts";
import { podSpecErrors } from "../pod/validate-pod-spec.ts";
import { forbiddenField, notSupported } from "../validation/field-errors.ts";
import { each, labelsErrors } from "../validation/labels.ts";
import type { PodTemplate } from "./workload-fields.ts";

/** Source: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidatePodTemplateSpec. */
export function podTemplateErrors({ metadata, spec }: PodTemplate, field: string): FieldError[] {
  return [
    ...labelsErrors(metadata.labels, `${field}.labels`),
    ...templateAnnotationErrors(metadata.annotations, field),
    ...podSpecErrors(spec, `${field}.spec`, false),
    ...(spec.ephemeralContainers === undefined
      ? []
      : [forbiddenField(`${field}.spec.ephemeralContainers`, "ephemeral containers not allowed in pod template")]),
  ];
}

export function templateAnnotationErrors(annotations: PodTemplate["metadata"]["annotations"], field: string): FieldError[] {
  return Object.keys(annotations ?? {}).flatMap((key) => each(`${field}.annotations`, key, labelKeyProblems(key.toLowerCase())));
}

/**
 * Validates a template whose pods must restart always. Source: pkg/apis/apps/validation/validation.go.
 *
 * @param kind - kind for the error message, such as `DaemonSet`
 */
export function endlessPodErrors({ spec }: PodTemplate, kind: string, field: string): FieldError[] {
  return [
    ...(spec.restartPolicy === "Always" ? [] : [notSupported(`${field}.spec.restartPolicy`, spec.restartPolicy ?? "", ["Always"])]),
    ...(spec.activeDeadlineSeconds === undefined
      ? []
      : [forbiddenField(`${field}.spec.activeDeadlineSeconds`, `activeDeadlineSeconds in ${kind} is not Supported`)]),
  ];
}
