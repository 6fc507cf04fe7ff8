import { parseQuantity } from "@virtual-kubelet/kubernetes";
import { groupVersionProblem } from "../api-version.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { forbiddenField, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { dnsLabelProblems, pathSegmentProblems } from "../validation/names.ts";
import { nonNegative } from "../validation/numbers.ts";
import { containerResourceNameErrors } from "../validation/resource-names.ts";
import type { AutoscalerSpec, MetricSource, MetricSpec, MetricTarget, ObjectTarget, ScalingRules } from "./autoscaler-fields.ts";
import { segmentErrors } from "./validate-ingress.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/autoscaling/validation/validation.go. */

const selectPolicies = ["Disabled", "Max", "Min"];
const policyTypes = ["Percent", "Pods"];
const metricTypes = ["ContainerResource", "External", "Object", "Pods", "Resource"];
const limits = { windowSeconds: 3600, periodSeconds: 1800 };

export function autoscalerErrors(autoscaler: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: AutoscalerSpec = autoscaler["spec"];
  if (old !== undefined && old["spec"] === spec) {
    const { currentReplicas, desiredReplicas }: { currentReplicas?: number; desiredReplicas?: number } = autoscaler["status"];
    return [...nonNegative(currentReplicas, "status.currentReplicas"), ...nonNegative(desiredReplicas, "status.desiredReplicas")];
  }
  const isRatcheted = old !== undefined && isInvalidVersion(old["spec"].scaleTargetRef.apiVersion ?? "");
  return [
    ...replicasErrors(spec),
    ...objectTargetErrors(spec.scaleTargetRef, "spec.scaleTargetRef", isRatcheted),
    ...(spec.metrics ?? []).flatMap((metric, index) => metricErrors(metric, `spec.metrics[${index}]`)),
    ...rulesErrors(spec.behavior?.scaleUp, "spec.behavior.scaleUp"),
    ...rulesErrors(spec.behavior?.scaleDown, "spec.behavior.scaleDown"),
  ];
}

function replicasErrors({ minReplicas = 1, maxReplicas = 0, metrics = [] }: AutoscalerSpec): FieldError[] {
  const hasExternalSource = metrics.some(({ type }) => type === "Object" || type === "External");
  return [
    ...(minReplicas < 1 ? [invalidValue("spec.minReplicas", minReplicas, "must be greater than or equal to 1")] : []),
    ...(maxReplicas === 0 ? [required("spec.maxReplicas", "must be set and greater than 0")] : []),
    ...(maxReplicas < 0 ? [invalidValue("spec.maxReplicas", maxReplicas, "must be greater than or equal to 1")] : []),
    ...(maxReplicas < minReplicas ? [invalidValue("spec.maxReplicas", maxReplicas, "must be greater than or equal to `minReplicas`")] : []),
    ...(minReplicas === 0 && !hasExternalSource
      ? [forbiddenField("spec.metrics", "must specify at least one Object or External metric to support scaling to zero replicas")]
      : []),
  ];
}

function isInvalidVersion(apiVersion: string): boolean {
  return apiVersion.split("/").length !== 2 || apiVersion.startsWith("/");
}

function objectTargetErrors({ kind, name, apiVersion = "" }: ObjectTarget, field: string, isVersionAccepted: boolean): FieldError[] {
  const problem = groupVersionProblem(apiVersion) ?? "apiVersion must specify API group";
  return [
    ...segmentErrors(kind, `${field}.kind`),
    ...segmentErrors(name, `${field}.name`),
    ...(isVersionAccepted || !isInvalidVersion(apiVersion) ? [] : [invalidValue(`${field}.apiVersion`, apiVersion, problem)]),
  ];
}

const sources = ["object", "external", "pods", "resource", "containerResource"] as const;

function metricErrors(metric: MetricSpec, field: string): FieldError[] {
  const { type = "" } = metric;
  const present = sources.filter((source) => metric[source] !== undefined);
  const [first] = present;
  const expected = sources.find((source) => source.toLowerCase() === type.toLowerCase());
  const isKnown = metricTypes.includes(type);
  return [
    ...(type === "" ? [required(`${field}.type`, "must specify a metric source type")] : []),
    ...(isKnown ? [] : [notSupported(`${field}.type`, type, metricTypes)]),
    ...(first === undefined ? [] : sourceErrors(metric, first, `${field}.${first}`)),
    ...(isKnown && expected !== undefined && metric[expected] === undefined
      ? [required(`${field}.${expected}`, "must populate information for the given metric source")]
      : []),
    ...(isKnown ? [] : [notSupported(`${field}.type`, type, metricTypes)]),
    ...(present.length === 1
      ? []
      : present
          .filter((source) => source !== expected)
          .map((source) => forbiddenField(`${field}.${source}`, "must populate the given metric source only"))),
  ];
}

function sourceErrors(metric: MetricSpec, source: (typeof sources)[number], field: string): FieldError[] {
  const own = metric[source] ?? {};
  if (source === "resource" || source === "containerResource") return resourceErrors(own, field, source === "containerResource");
  const { metric: identifier, target, describedObject } = own;
  return [
    ...(source === "object" ? objectTargetErrors(describedObject ?? {}, `${field}.describedObject`, isCoreVersion(describedObject)) : []),
    ...metricNameErrors(identifier?.name, `${field}.metric.name`),
    ...targetErrors(target, `${field}.target`),
    ...valueErrors(target, source, `${field}.target`),
  ];
}

const missingValues = {
  object: "must set either a target value or averageValue",
  external: "must set either a target value for metric or a per-pod target",
  pods: "must specify a positive target averageValue",
};

function valueErrors({ value, averageValue }: MetricTarget = {}, source: keyof typeof missingValues, field: string): FieldError[] {
  const isMissing = averageValue === undefined && (source === "pods" || value === undefined);
  return [
    ...(isMissing ? [required(`${field}.averageValue`, missingValues[source])] : []),
    ...(source === "external" && value !== undefined && averageValue !== undefined
      ? [forbiddenField(`${field}.value`, "may not set both a target value for metric and a per-pod target")]
      : []),
  ];
}

function resourceErrors({ name = "", container = "", target }: MetricSource, field: string, isOfContainer: boolean): FieldError[] {
  const containerErrors = (): FieldError[] =>
    container === ""
      ? [required(`${field}.container`, "must specify a container")]
      : each(`${field}.container`, container, dnsLabelProblems(container));
  return [
    ...(name === "" ? [required(`${field}.name`, "must specify a resource name")] : []),
    ...(name !== "" && isOfContainer ? containerResourceNameErrors(name, `${field}.name`) : []),
    ...(isOfContainer ? containerErrors() : []),
    ...utilizationErrors(target, field),
  ];
}

/** Objects of the core group may be described. */
function isCoreVersion(described: ObjectTarget | undefined): boolean {
  return (described?.apiVersion ?? "").split("/").length <= 2;
}

function metricNameErrors(name: string | undefined, field: string): FieldError[] {
  return name === undefined || name === "" ? [required(field, "must specify a metric name")] : each(field, name, pathSegmentProblems(name));
}

function utilizationErrors(target: MetricTarget | undefined, field: string): FieldError[] {
  const hasUtilization = target?.averageUtilization !== undefined;
  const hasAverage = target?.averageValue !== undefined;
  return [
    ...targetErrors(target, `${field}.target`),
    ...(hasUtilization || hasAverage
      ? []
      : [required(`${field}.target.averageUtilization`, "must set either a target raw value or a target utilization")]),
    ...(hasUtilization && hasAverage
      ? [forbiddenField(`${field}.target.averageValue`, "may not set both a target raw value and a target utilization")]
      : []),
  ];
}

function targetErrors({ type = "", value, averageValue, averageUtilization }: MetricTarget = {}, field: string): FieldError[] {
  const quantityErrors = (text: string | undefined, name: string): FieldError[] =>
    text === undefined || parseQuantity(text).nano > 0n ? [] : [invalidValue(`${field}.${name}`, text, "must be positive")];
  return [
    ...(type === "" ? [required(`${field}.type`, "must specify a metric target type")] : []),
    ...(["Utilization", "Value", "AverageValue"].includes(type)
      ? []
      : [invalidValue(`${field}.type`, type, "must be either Utilization, Value, or AverageValue")]),
    ...quantityErrors(value, "value"),
    ...quantityErrors(averageValue, "averageValue"),
    ...(averageUtilization !== undefined && averageUtilization < 1
      ? [invalidValue(`${field}.averageUtilization`, averageUtilization, "must be greater than 0")]
      : []),
  ];
}

function rulesErrors(rules: ScalingRules | undefined, field: string): FieldError[] {
  if (rules === undefined) return [];
  const { stabilizationWindowSeconds: window = 0, selectPolicy, policies = [], tolerance } = rules;
  const windowField = `${field}.stabilizationWindowSeconds`;
  return [
    ...(window < 0 ? [invalidValue(windowField, window, "must be greater than or equal to zero")] : []),
    ...(window > limits.windowSeconds ? [invalidValue(windowField, window, `must be less than or equal to ${limits.windowSeconds}`)] : []),
    ...(selectPolicy === undefined || selectPolicies.includes(selectPolicy)
      ? []
      : [notSupported(`${field}.selectPolicy`, selectPolicy, selectPolicies)]),
    ...(policies.length === 0 ? [required(`${field}.policies`, "must specify at least one Policy")] : []),
    ...policies.flatMap(({ type, value, periodSeconds }, index) => {
      const path = `${field}.policies[${index}]`;
      return [
        ...(policyTypes.includes(type) ? [] : [notSupported(`${path}.type`, type, policyTypes)]),
        ...(value <= 0 ? [invalidValue(`${path}.value`, value, "must be greater than zero")] : []),
        ...(periodSeconds <= 0 ? [invalidValue(`${path}.periodSeconds`, periodSeconds, "must be greater than zero")] : []),
        ...(periodSeconds > limits.periodSeconds
          ? [invalidValue(`${path}.periodSeconds`, periodSeconds, `must be less than or equal to ${limits.periodSeconds}`)]
          : []),
      ];
    }),
    ...(tolerance !== undefined && parseQuantity(tolerance).nano < 0n
      ? [invalidValue(`${field}.tolerance`, tolerance, "must be greater than or equal to 0")]
      : []),
  ];
}
