import type { ApiObject, Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { plainKind, textColumn } from "./plain-kind.ts";
import { autoscalerErrors } from "./validate-autoscaler.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/autoscaling and pkg/printers/internalversion. */

// oxlint-disable-next-line typescript/no-explicit-any -- metrics of every kind
type Metric = Readonly<Record<string, any>>;

/** Autoscalers. They are stored, but nothing is scaled. */
export const horizontalPodAutoscalerKind: Kind = plainKind({
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  shortNames: ["hpa"],
  categories: ["all"],
  namespaced: true,
  hasStatus: true,
  applyDefaults: applyAutoscalerDefaults,
  validate: autoscalerErrors,
  columns: [
    nameColumn,
    textColumn(
      "Reference",
      "scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be collected, as well as to actually change the replica count.",
      ({ spec }) => `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`,
    ),
    textColumn(
      "Targets",
      "metrics contains the specifications for which to use to calculate the desired replica count (the maximum replica count across all metrics will be used).  The desired replica count is calculated multiplying the ratio between the target value and the current value by the current number of pods.  Ergo, metrics used must decrease as the pod count is increased, and vice-versa.  See the individual metric source types for more information about how each type of metric must respond. If not set, the default metric will be set to 80% average CPU utilization.",
      ({ spec, status }) => metricsText(spec.metrics ?? [], status.currentMetrics ?? []),
    ),
    textColumn(
      "MinPods",
      "minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down.  It defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate HPAScaleToZero is enabled and at least one Object or External metric is configured.  Scaling is active as long as at least one metric value is available.",
      ({ spec }) => (spec.minReplicas === undefined ? "<unset>" : String(spec.minReplicas)),
    ),
    {
      name: "MaxPods",
      type: "string",
      description:
        "maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up. It cannot be less that minReplicas.",
      cell: ({ spec }) => spec.maxReplicas,
    },
    {
      name: "Replicas",
      type: "string",
      description: "currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by the autoscaler.",
      cell: ({ status }) => status.currentReplicas ?? 0,
    },
    ageColumn,
  ],
});

function applyAutoscalerDefaults({ spec }: ApiObject): void {
  spec.minReplicas ??= 1;
  if ((spec.metrics ?? []).length === 0)
    spec.metrics = [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } }];
  if (spec.behavior === undefined) return;
  spec.behavior.scaleUp = { ...defaultScaleUp(), ...spec.behavior.scaleUp };
  spec.behavior.scaleDown = { ...defaultScaleDown(), ...spec.behavior.scaleDown };
}

/** Source: Kubernetes v1.36.3 pkg/apis/autoscaling/v2/defaults.go. */
export function defaultScaleUp(): object {
  return {
    stabilizationWindowSeconds: 0,
    selectPolicy: "Max",
    policies: [
      { type: "Pods", value: 4, periodSeconds: 15 },
      { type: "Percent", value: 100, periodSeconds: 15 },
    ],
  };
}

/** Rules for scaling down, of the same source. */
export function defaultScaleDown(): object {
  return { selectPolicy: "Max", policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] };
}

function metricsText(metrics: readonly Metric[], current: readonly Metric[]): string {
  const limit = 2;
  const texts = metrics.map((metric, index) => metricText(metric, current[index]));
  const shown = texts.slice(0, limit).join(", ");
  return texts.length > limit ? `${shown} + ${texts.length - limit} more...` : shown;
}

const sources: Readonly<Record<string, string>> = {
  External: "external",
  Pods: "pods",
  Object: "object",
  Resource: "resource",
  ContainerResource: "containerResource",
};

function metricText(metric: Metric, now: Metric | undefined): string {
  const source = sources[String(metric["type"])];
  if (source === undefined) return "<unknown type>";
  const { target, name } = metric[source];
  const value = now?.[source]?.current;
  if (source === "resource" || source === "containerResource") {
    if (target.averageValue !== undefined) return `${name}: ${value?.averageValue ?? "<unknown>"}/${target.averageValue}`;
    const percent = (number: number | undefined, missing: string): string => (number === undefined ? missing : `${number}%`);
    return `${name}: ${percent(value?.averageUtilization, "<unknown>")}/${percent(target.averageUtilization, "<auto>")}`;
  }
  if (source === "pods") return `${value?.averageValue ?? "<unknown>"}/${target.averageValue}`;
  return target.averageValue === undefined
    ? `${value?.value ?? "<unknown>"}/${target.value}`
    : `${value?.averageValue ?? "<unknown>"}/${target.averageValue} (avg)`;
}
