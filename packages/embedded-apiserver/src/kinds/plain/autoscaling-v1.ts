import type { ApiObject, Kind } from "../kind.ts";
import { versionOf } from "../version-of.ts";
import { annotatedBehavior, annotatedList } from "./autoscaler-annotations.ts";
import { defaultScaleDown, defaultScaleUp, horizontalPodAutoscalerKind } from "./autoscaling.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/autoscaling/v1/conversion.go and pkg/apis/autoscaling/annotations.go. */

// oxlint-disable-next-line typescript/no-explicit-any -- metrics of every kind
type Fields = Readonly<Record<string, any>>;

const prefix = "autoscaling.alpha.kubernetes.io";
const metricsAnnotation = `${prefix}/metrics`;
const currentMetricsAnnotation = `${prefix}/current-metrics`;
const conditionsAnnotation = `${prefix}/conditions`;
const behaviorAnnotation = `${prefix}/behavior`;
const ownAnnotations: ReadonlySet<string> = new Set([
  metricsAnnotation,
  currentMetricsAnnotation,
  conditionsAnnotation,
  behaviorAnnotation,
  `${prefix}/scale-down-tolerance`,
  `${prefix}/scale-up-tolerance`,
]);

/** Autoscalers of autoscaling/v1, which has a field only for the use of processors; everything else is in annotations. */
export const olderAutoscalerKind: Kind = versionOf(horizontalPodAutoscalerKind, {
  group: "autoscaling",
  version: "v1",
  schema: "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler",
  applyDefaults: ({ spec }) => void (spec.minReplicas ??= 1),
  conversion: { fromStorage: toOlder, toStorage: toNewer },
});

function toOlder({ spec = {}, status = {}, metadata, ...rest }: Readonly<ApiObject>): ApiObject {
  const { scaleTargetRef, minReplicas, maxReplicas, behavior }: Fields = spec;
  const { observedGeneration, lastScaleTime, currentReplicas, desiredReplicas }: Fields = status;
  const metrics: readonly Fields[] = spec.metrics ?? [];
  const currentMetrics: readonly Fields[] = status.currentMetrics ?? [];
  const conditions: readonly Fields[] = status.conditions ?? [];
  const others = metrics.filter((metric) => !isCpuUse(metric, "target")).map(olderMetric);
  const added: readonly (readonly [name: string, value: unknown])[] = [
    ...(others.length > 0 ? [[metricsAnnotation, others] as const] : []),
    ...(currentMetrics.length > 0 ? [[currentMetricsAnnotation, currentMetrics.map(olderStatus)] as const] : []),
    ...(behavior === undefined ? [] : [[behaviorAnnotation, goBehavior(behavior)] as const]),
    ...(conditions.length > 0 ? [[conditionsAnnotation, conditions] as const] : []),
  ];
  return {
    ...rest,
    metadata: withAnnotations(
      metadata,
      added.map(([name, value]) => [name, JSON.stringify(value)]),
    ),
    spec: {
      scaleTargetRef,
      minReplicas,
      maxReplicas,
      targetCPUUtilizationPercentage: metrics.find((metric) => isCpuUse(metric, "target"))?.["resource"].target.averageUtilization,
    },
    status: {
      observedGeneration,
      lastScaleTime,
      currentReplicas,
      desiredReplicas,
      currentCPUUtilizationPercentage: currentMetrics.findLast((metric) => isCpuUse(metric, "current"))?.["resource"].current
        .averageUtilization,
    },
  };
}

function toNewer({ spec = {}, status = {}, metadata, ...rest }: Readonly<ApiObject>): ApiObject {
  const { scaleTargetRef, minReplicas, maxReplicas, targetCPUUtilizationPercentage: wanted }: Fields = spec;
  const { observedGeneration, lastScaleTime, currentReplicas, desiredReplicas, currentCPUUtilizationPercentage: current }: Fields = status;
  const { annotations = {} } = metadata ?? {};
  const others = annotatedList(annotations[metricsAnnotation], "target") ?? [];
  const metrics = [...others.map(newerMetric), ...(wanted === undefined ? [] : [cpuUse("target", wanted)])];
  const behavior = annotatedBehavior(annotations[behaviorAnnotation]);
  const known = annotatedList(annotations[currentMetricsAnnotation], "current");
  const inferred = current === undefined ? undefined : [cpuUse("current", current)];
  return {
    ...rest,
    metadata: withAnnotations(metadata, []),
    spec: {
      scaleTargetRef,
      minReplicas,
      maxReplicas,
      metrics: metrics.length === 0 ? [cpuUse("target", 80)] : metrics,
      behavior: behavior !== undefined && Object.keys(behavior).length > 0 ? jsonBehavior(behavior) : undefined,
    },
    status: {
      observedGeneration,
      lastScaleTime,
      currentReplicas,
      desiredReplicas,
      currentMetrics: known?.map(newerStatus) ?? inferred,
      conditions: annotatedList(annotations[conditionsAnnotation], "conditions"),
    },
  };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCpuUse({ type, resource }: Fields, side: "target" | "current"): boolean {
  return type === "Resource" && resource?.name === "cpu" && resource[side]?.averageUtilization !== undefined;
}

function cpuUse(side: "target" | "current", averageUtilization: number): object {
  const value = side === "target" ? { type: "Utilization", averageUtilization } : { averageUtilization };
  return { type: "Resource", resource: { name: "cpu", [side]: value } };
}

function withAnnotations(metadata: ApiObject["metadata"], added: readonly (readonly [string, string])[]): ApiObject["metadata"] {
  const { annotations, ...others } = metadata ?? {};
  const kept = Object.entries(annotations ?? {}).filter(([name]) => !ownAnnotations.has(name));
  const all = Object.fromEntries([...kept, ...added]);
  return Object.keys(all).length === 0 ? others : { ...others, annotations: all };
}

function olderMetric({ type, object, pods, resource, containerResource, external }: Fields): Fields {
  return {
    type,
    object: object && {
      target: referenceOf(object.describedObject),
      metricName: object.metric.name,
      targetValue: object.target.value ?? "0",
      selector: object.metric.selector,
      averageValue: object.target.averageValue,
    },
    pods: pods && { metricName: pods.metric.name, targetAverageValue: pods.target.averageValue ?? "0", selector: pods.metric.selector },
    resource: resource && olderResource(resource),
    containerResource: containerResource && { ...olderResource(containerResource), container: containerResource.container },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      targetValue: external.target.value,
      targetAverageValue: external.target.averageValue,
    },
  };
}

function olderResource({ name, target }: Fields): Fields {
  return { name, targetAverageUtilization: target.averageUtilization, targetAverageValue: target.averageValue };
}

function newerMetric({ type, object, pods, resource, containerResource, external }: Fields): Fields {
  return {
    type,
    object: object && {
      describedObject: referenceOf(object.target),
      target: objectTarget(object),
      metric: { name: object.metricName, selector: object.selector },
    },
    pods: pods && {
      metric: { name: pods.metricName, selector: pods.selector },
      target: { type: "AverageValue", averageValue: pods.targetAverageValue },
    },
    resource: resource && { name: resource.name, target: resourceTarget(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      container: containerResource.container,
      target: resourceTarget(containerResource),
    },
    external: external && {
      metric: { name: external.metricName, selector: external.metricSelector },
      target: {
        type: external.targetValue === undefined ? "AverageValue" : "Value",
        value: external.targetValue,
        averageValue: external.targetAverageValue,
      },
    },
  };
}

function objectTarget({ targetValue, averageValue }: Fields): Fields {
  if (averageValue === undefined) return { type: "Value", value: targetValue };
  return { type: "AverageValue", value: /^0*$/.test(targetValue ?? "") ? undefined : targetValue, averageValue };
}

function resourceTarget({ targetAverageUtilization, targetAverageValue }: Fields): Fields {
  return {
    type: targetAverageUtilization === undefined ? "AverageValue" : "Utilization",
    averageValue: targetAverageValue,
    averageUtilization: targetAverageUtilization,
  };
}

function olderStatus({ type, object, pods, resource, containerResource, external }: Fields): Fields {
  return {
    type,
    object: object && {
      target: referenceOf(object.describedObject),
      metricName: object.metric.name,
      currentValue: object.current.value ?? "0",
      selector: object.metric.selector,
      averageValue: object.current.averageValue,
    },
    pods: pods && { metricName: pods.metric.name, currentAverageValue: pods.current.averageValue ?? "0", selector: pods.metric.selector },
    resource: resource && olderCurrent(resource),
    containerResource: containerResource && { ...olderCurrent(containerResource), container: containerResource.container },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      currentValue: external.current.value ?? "0",
      currentAverageValue: external.current.averageValue,
    },
  };
}

function olderCurrent({ name, current }: Fields): Fields {
  return { name, currentAverageUtilization: current.averageUtilization, currentAverageValue: current.averageValue ?? "0" };
}

function newerStatus({ type, object, pods, resource, containerResource, external }: Fields): Fields {
  return {
    type,
    object: object && {
      describedObject: referenceOf(object.target),
      current: { value: object.currentValue, averageValue: object.averageValue },
      metric: { name: object.metricName, selector: object.selector },
    },
    pods: pods && { metric: { name: pods.metricName, selector: pods.selector }, current: { averageValue: pods.currentAverageValue } },
    resource: resource && { name: resource.name, current: newerCurrent(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      container: containerResource.container,
      current: newerCurrent(containerResource),
    },
    external: external && {
      metric: { name: external.metricName, selector: external.metricSelector },
      current: { value: external.currentValue, averageValue: external.currentAverageValue },
    },
  };
}

function newerCurrent({ currentAverageUtilization, currentAverageValue }: Fields): Fields {
  return { averageValue: currentAverageValue, averageUtilization: currentAverageUtilization };
}

function referenceOf({ kind, name, apiVersion }: Fields): Fields {
  return { kind, name, apiVersion };
}

/** The annotation has the names of Go's internal type. */
function goBehavior({ scaleUp, scaleDown }: Fields): Fields {
  return { ScaleUp: goRules(scaleUp), ScaleDown: goRules(scaleDown) };
}

function goRules(rules: Fields | undefined): Fields | null {
  if (rules === undefined) return null;
  const { stabilizationWindowSeconds = null, selectPolicy = null, policies = null, tolerance = null } = rules;
  const listed = (policies as readonly Fields[] | null)?.map(({ type: Type, value: Value, periodSeconds: PeriodSeconds }) => ({
    Type,
    Value,
    PeriodSeconds,
  }));
  return {
    StabilizationWindowSeconds: stabilizationWindowSeconds,
    SelectPolicy: selectPolicy,
    Policies: listed ?? null,
    Tolerance: tolerance,
  };
}

function jsonBehavior({ ScaleUp, ScaleDown }: Fields): Fields {
  // Policies of rules that are there are validated before they get defaults.
  return { scaleUp: jsonRules(ScaleUp, 0) ?? defaultScaleUp(), scaleDown: jsonRules(ScaleDown) ?? defaultScaleDown() };
}

function jsonRules(rules: Fields | null | undefined, window?: number): Fields | undefined {
  if (!isFields(rules)) return undefined;
  const { StabilizationWindowSeconds, SelectPolicy, Policies, Tolerance } = rules;
  return {
    stabilizationWindowSeconds: StabilizationWindowSeconds ?? window,
    selectPolicy: SelectPolicy ?? undefined,
    policies: (Policies as readonly Fields[] | null)?.map(({ Type: type, Value: value, PeriodSeconds: periodSeconds }) => ({
      type,
      value,
      periodSeconds,
    })),
    tolerance: Tolerance ?? undefined,
  };
}
