import { type LabelSelector, selectsLabels } from "@virtual-kubelet/kubernetes";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { forbiddenField, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { intOrPercentErrors, moreThanWholeErrors } from "../validation/int-or-percent.ts";
import { labelSelectorErrors } from "../validation/labels.ts";
import { nonNegative } from "../validation/numbers.ts";
import { endlessPodErrors, podTemplateErrors } from "./validate-pod-template.ts";
import type { DeploymentSpec, DeploymentStatus, PodTemplate, ReplicaSetSpec, ReplicaSetStatus } from "./workload-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/apps/validation/validation.go. */

export function deploymentErrors(deployment: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: DeploymentSpec = deployment["spec"];
  if (old !== undefined && old["spec"] === spec)
    return statusErrors(deployment["status"], ["updatedReplicas", "readyReplicas", "availableReplicas"]);
  const { progressDeadlineSeconds: deadline, minReadySeconds = 0 } = spec;
  return [
    ...nonNegative(spec.replicas, "spec.replicas"),
    ...selectorErrors(spec.selector),
    ...templateErrors(spec.template, spec.selector),
    ...strategyErrors(spec.strategy, "spec.strategy"),
    ...nonNegative(minReadySeconds, "spec.minReadySeconds"),
    ...nonNegative(spec.revisionHistoryLimit, "spec.revisionHistoryLimit"),
    ...nonNegative(deadline, "spec.progressDeadlineSeconds"),
    ...(deadline !== undefined && deadline <= minReadySeconds
      ? [invalidValue("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")]
      : []),
    ...immutableSelector(spec.selector, old),
  ];
}

export function replicaSetErrors(replicaSet: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: ReplicaSetSpec = replicaSet["spec"];
  if (old !== undefined && old["spec"] === spec)
    return statusErrors(replicaSet["status"], ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"]);
  return [
    ...nonNegative(spec.replicas, "spec.replicas"),
    ...nonNegative(spec.minReadySeconds, "spec.minReadySeconds"),
    ...selectorErrors(spec.selector),
    ...templateErrors(spec.template, spec.selector),
    ...immutableSelector(spec.selector, old),
  ];
}

function selectorErrors(selector: LabelSelector | null): FieldError[] {
  if (selector === null) return [required("spec.selector")];
  const isEmpty = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0;
  return [
    ...labelSelectorErrors(selector, "spec.selector"),
    ...(isUsable(selector) ? [] : [invalidValue("spec.selector", selector, "invalid label selector")]),
    ...(isEmpty ? [invalidValue("spec.selector", selector, "empty selector is invalid for deployment")] : []),
  ];
}

/** Whether the selector is valid, so that it can be evaluated. */
function isUsable(selector: LabelSelector): boolean {
  return labelSelectorErrors(selector, "").length === 0;
}

function immutableSelector(selector: LabelSelector | null, old: ApiObject | undefined): FieldError[] {
  return old === undefined || equalJson(selector, old["spec"].selector)
    ? []
    : [invalidValue("spec.selector", selector, "field is immutable")];
}

/** A template is not validated if the selector cannot be evaluated. */
function templateErrors(template: PodTemplate, selector: LabelSelector | null): FieldError[] {
  if (selector !== null && !isUsable(selector)) return [];
  const { labels } = template.metadata;
  const isUnmatched = selector === null || !selectsLabels(selector, labels);
  return [
    ...(isUnmatched ? [invalidValue("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`")] : []),
    ...podTemplateErrors(template, "spec.template"),
    ...endlessPodErrors(template, "ReplicaSet", "spec.template"),
  ];
}

function strategyErrors(strategy: DeploymentSpec["strategy"], field: string): FieldError[] {
  const { type, rollingUpdate } = strategy;
  if (type === "Recreate")
    return rollingUpdate === undefined
      ? []
      : [forbiddenField(`${field}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'")];
  if (type !== "RollingUpdate") return [notSupported(field, { Type: type ?? "", RollingUpdate: null }, ["Recreate", "RollingUpdate"])];
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const path = `${field}.rollingUpdate`;
  const isZero = (value: number | string): boolean => value === 0 || /^0+%$/.test(String(value));
  return [
    ...intOrPercentErrors(maxUnavailable, `${path}.maxUnavailable`),
    ...intOrPercentErrors(maxSurge, `${path}.maxSurge`),
    ...(isZero(maxUnavailable) && isZero(maxSurge)
      ? [invalidValue(`${path}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0")]
      : []),
    ...moreThanWholeErrors(maxUnavailable, `${path}.maxUnavailable`),
  ];
}

function statusErrors(
  status: DeploymentStatus & Partial<ReplicaSetStatus>,
  parts: readonly ("updatedReplicas" | "fullyLabeledReplicas" | "readyReplicas" | "availableReplicas")[],
): FieldError[] {
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  const counts = Object.entries(status).flatMap(([name, value]) => (typeof value === "number" ? nonNegative(value, `status.${name}`) : []));
  const tooMany = parts.flatMap((name) =>
    (status[name] ?? 0) > replicas ? [invalidValue(`status.${name}`, status[name], "cannot be greater than status.replicas")] : [],
  );
  return [
    ...counts,
    ...tooMany,
    ...(availableReplicas > readyReplicas
      ? [invalidValue("status.availableReplicas", availableReplicas, "cannot be greater than readyReplicas")]
      : []),
  ];
}
