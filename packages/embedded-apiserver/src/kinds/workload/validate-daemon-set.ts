import { selectsLabels } from "@virtual-kubelet/kubernetes";
import type { ApiObject, FieldError } from "../kind.ts";
import { selectsEverything } from "../../selectors/label-selector-text.ts";
import { invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { intOrPercentErrors, intOrPercentValue, moreThanWholeErrors } from "../validation/int-or-percent.ts";
import { labelSelectorErrors } from "../validation/labels.ts";
import { nonNegative } from "../validation/numbers.ts";
import { endlessPodErrors, podTemplateErrors } from "./validate-pod-template.ts";
import type { DaemonSetSpec, DaemonSetStatus } from "./workload-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/apps/validation/validation.go. */
export function daemonSetErrors(daemonSet: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: DaemonSetSpec = daemonSet["spec"];
  if (old !== undefined && old["spec"] === spec) return statusErrors(daemonSet["status"], old["status"]);
  return [
    ...(old === undefined ? [] : immutableErrors(spec.selector, old["spec"].selector, "spec.selector")),
    ...selectorErrors(spec),
    ...podTemplateErrors(spec.template, "spec.template"),
    ...endlessPodErrors(spec.template, "DaemonSet", "spec.template"),
    ...nonNegative(spec.minReadySeconds, "spec.minReadySeconds"),
    ...strategyErrors(spec.updateStrategy, "spec.updateStrategy"),
    ...nonNegative(spec.revisionHistoryLimit, "spec.revisionHistoryLimit"),
  ];
}

function selectorErrors({ selector, template }: DaemonSetSpec): FieldError[] {
  const errors = labelSelectorErrors(selector, "spec.selector");
  const { labels } = template.metadata;
  const isUnmatched = errors.length === 0 && !selectsLabels(selector, labels);
  return [
    ...errors,
    ...(isUnmatched ? [invalidValue("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`")] : []),
    ...(selectsEverything(selector) ? [invalidValue("spec.selector", selector, "empty selector is invalid for daemonset")] : []),
  ];
}

function strategyErrors({ type, rollingUpdate }: DaemonSetSpec["updateStrategy"], field: string): FieldError[] {
  if (type === "OnDelete") return [];
  if (type !== "RollingUpdate") return [notSupported(field, { Type: type ?? "", RollingUpdate: null }, ["RollingUpdate", "OnDelete"])];
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const path = `${field}.rollingUpdate`;
  const [hasUnavailable, hasSurge] = [intOrPercentValue(maxUnavailable) !== 0, intOrPercentValue(maxSurge) !== 0];
  return [
    ...intOrPercentErrors(maxUnavailable, `${path}.maxUnavailable`),
    ...intOrPercentErrors(maxSurge, `${path}.maxSurge`),
    ...moreThanWholeErrors(maxUnavailable, `${path}.maxUnavailable`),
    ...moreThanWholeErrors(maxSurge, `${path}.maxSurge`),
    ...(hasUnavailable && hasSurge ? [invalidValue(`${path}.maxSurge`, maxSurge, "may not be set when maxUnavailable is non-zero")] : []),
    ...(!hasUnavailable && !hasSurge ? [required(`${path}.maxUnavailable`, "cannot be 0 when maxSurge is 0")] : []),
  ];
}

function statusErrors(status: DaemonSetStatus, old: DaemonSetStatus): FieldError[] {
  const names = [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
  ] as const;
  return [...names.flatMap((name) => nonNegative(status[name], `status.${name}`)), ...collisionErrors(status, old)];
}

/** The collision count must not decrease. */
export function collisionErrors(
  { collisionCount: count }: { readonly collisionCount?: number },
  { collisionCount: old }: { readonly collisionCount?: number },
): FieldError[] {
  const isLess = old !== undefined && (count === undefined || count < old);
  return isLess ? [invalidValue("status.collisionCount", count ?? 0, "cannot be decremented")] : [];
}
