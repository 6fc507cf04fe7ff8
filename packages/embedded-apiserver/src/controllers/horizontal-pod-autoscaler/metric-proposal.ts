import { formatQuantity, parseQuantity, milliUnits } from "@virtual-kubelet/kubernetes";
import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import type { AutoscalerSpec, MetricIdentifier, MetricSource, MetricSpec, MetricTarget } from "../../kinds/plain/autoscaler-fields.ts";
import type { Steps } from "../../rest/steps.ts";
import { formatLabelSelector } from "../../selectors/label-selector-text.ts";
import { type MetricsClient, MetricsError, type PodMetrics } from "./metrics-client.ts";
import {
  averageReplicas,
  dividedReplicas,
  type Proposal,
  sharedReplicas,
  type Tolerances,
  utilizationReplicas,
} from "./replica-calculator.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/controller/podautoscaler/horizontal.go, `computeReplicasForMetric`. */

/** The target of an autoscaler and its pods. */
export interface ScaledTarget {
  readonly namespace: string;
  /** `spec.replicas` of the Scale. */
  readonly replicas: number;
  /** `status.replicas` of the Scale. */
  readonly statusReplicas: number;
  /** Selector of the pods as text. */
  readonly selector: string;
  readonly pods: readonly Readonly<ApiObject>[];
  readonly kinds: readonly Kind[];
  readonly nowMs: number;
}

/** What one metric demands. */
export interface MetricProposal {
  readonly replicas: number;
  /** Such as `cpu resource utilization (percentage of request)`. */
  readonly name: string;
  /** Item of `status.currentMetrics`. */
  readonly status: object;
}

/** A metric demands nothing, because it cannot be read or is incomplete. */
export class MetricProblem extends Error {
  /** Such as `FailedGetResourceMetric`. */
  readonly reason: string;
  /** Message of the event and the condition. */
  readonly detail: string;

  constructor(reason: string, detail: string, message: string) {
    super(message);
    this.reason = reason;
    this.detail = detail;
  }
}

const defaultTolerance = 0.1;

/** Tolerances of an autoscaler; default: a tenth. */
export function tolerancesOf({ behavior }: AutoscalerSpec): Tolerances {
  const part = (text: string | undefined): number => (text === undefined ? defaultTolerance : Number(parseQuantity(text).nano) / 1e9);
  return { scaleDown: part(behavior?.scaleDown?.tolerance), scaleUp: part(behavior?.scaleUp?.tolerance) };
}

/** Computes what one metric demands. @throws MetricProblem */
export function* proposeReplicas(
  client: MetricsClient,
  metric: MetricSpec,
  target: ScaledTarget,
  tolerances: Tolerances,
): Steps<MetricProposal> {
  const { type = "" } = metric;
  const source = metric[(type.charAt(0).toLowerCase() + type.slice(1)) as "pods"] ?? {};
  try {
    switch (type) {
      case "Resource":
        return yield* resourceProposal(client, source, target, tolerances);
      case "ContainerResource":
        return yield* resourceProposal(client, source, target, tolerances, source.container ?? "");
      case "Pods":
        return yield* podsProposal(client, source, target, tolerances);
      case "Object":
        return yield* objectProposal(client, source, target, tolerances);
      default:
        return yield* externalProposal(client, source, target, tolerances);
    }
  } catch (error) {
    if (!(error instanceof MetricsError)) throw error;
    throw new MetricProblem(
      `FailedGet${type}Metric`,
      error.message,
      `failed to get ${describe(type, source)}: ${error.context}${error.message}`,
    );
  }
}

function describe(type: string, { name, container, metric }: MetricSource): string {
  switch (type) {
    case "Resource":
      return `${name} resource metric value`;
    case "ContainerResource":
      return `${container} container metric value`;
    case "External":
      return `${metric?.name} external metric value`;
    default:
      return `${type.toLowerCase()} metric value`;
  }
}

/** Adds a prefix to the message of a metrics error, and its context. */
function* explained<Result>(prefix: string, steps: Steps<Result>, context: string = ""): Steps<Result> {
  try {
    return yield* steps;
  } catch (error) {
    throw error instanceof MetricsError ? new MetricsError(`${prefix}${error.message}`, context) : error;
  }
}

function milliOf(text: string | undefined): number {
  return Number(milliUnits(parseQuantity(text ?? "0")));
}

const [lowest, highest] = [-(2n ** 63n), 2n ** 63n - 1n];

function quantityText(milli: number, resource: string = ""): string {
  return formatQuantity({ nano: int64(milli) * 1_000_000n, format: resource === "memory" ? "BinarySI" : "DecimalSI" });
}

/** Go's result for a value without replicas to divide it among is the lowest integer. */
function int64(value: number): bigint {
  if (!Number.isFinite(value)) return lowest;
  const whole = BigInt(Math.trunc(value));
  if (whole > highest) return highest;
  return whole < lowest ? lowest : whole;
}

function* resourceProposal(
  client: MetricsClient,
  { name: resource = "", target = {} }: MetricSource,
  scaled: ScaledTarget,
  tolerances: Tolerances,
  container?: string,
): Steps<MetricProposal> {
  const { averageValue, averageUtilization } = target;
  const what = averageValue === undefined ? "utilization" : "usage";
  const options = { selector: scaled.selector, ...(container === undefined ? {} : { container }) };
  const compute = function* (): Steps<Proposal> {
    const metrics = yield* explained(
      `unable to get metrics for resource ${resource}: `,
      client.resource(resource, scaled.namespace, options),
    );
    const calculation = calculationOf(scaled, metrics, resource, tolerances);
    return averageValue === undefined
      ? utilizationReplicas(calculation, averageUtilization ?? 0, container)
      : averageReplicas(calculation, milliOf(averageValue));
  };
  const { replicas, milli, utilization } = yield* explained(`failed to get ${resource} ${what}: `, compute());
  const current = {
    ...(utilization === undefined ? {} : { averageUtilization: utilization }),
    averageValue: quantityText(milli, resource),
  };
  const part = container === undefined ? "" : "container ";
  const status =
    container === undefined
      ? { type: "Resource", resource: { name: resource, current } }
      : { type: "ContainerResource", containerResource: { name: resource, container, current } };
  const name = averageValue === undefined ? `${resource} ${part}resource utilization (percentage of request)` : `${resource} resource`;
  return { replicas, name, status };
}

function calculationOf(
  { pods, replicas, nowMs }: ScaledTarget,
  metrics: PodMetrics,
  resource: string,
  tolerances: Tolerances,
): Parameters<typeof averageReplicas>[0] {
  return { pods, metrics, resource, replicas, tolerances, nowMs };
}

function* podsProposal(
  client: MetricsClient,
  { metric = {}, target = {} }: MetricSource,
  scaled: ScaledTarget,
  tolerances: Tolerances,
): Steps<MetricProposal> {
  const { name = "" } = metric;
  const selectors = { selector: scaled.selector, metricSelector: formatLabelSelector(metric.selector) };
  const metrics = yield* explained(`unable to get metric ${name}: `, client.pods(name, scaled.namespace, selectors));
  const { replicas, milli } = averageReplicas(calculationOf(scaled, metrics, "", tolerances), milliOf(target.averageValue));
  return {
    replicas,
    name: `pods metric ${name}`,
    status: { type: "Pods", pods: { metric, current: { averageValue: quantityText(milli) } } },
  };
}

function* objectProposal(
  client: MetricsClient,
  { metric = {}, target = {}, describedObject = {} }: MetricSource,
  scaled: ScaledTarget,
  tolerances: Tolerances,
): Steps<MetricProposal> {
  const { name = "" } = metric;
  const { kind = "", name: objectName = "" } = describedObject;
  const resource = resourceOf(scaled.kinds, describedObject);
  const read = client.object(name, scaled.namespace, { resource, name: objectName, metricSelector: formatLabelSelector(metric.selector) });
  let value = 0;
  try {
    value = yield* read;
  } catch (error) {
    if (!(error instanceof MetricsError)) throw error;
    const problem = `unable to get metric ${name}: ${kind} on ${scaled.namespace} ${objectName}/${error.message}`;
    throw new MetricsError(problem, isPerPod(target) ? `failed to get ${name} object metric: ` : "");
  }
  const { replicas, current } = sharedOrDivided(scaled, value, target, tolerances);
  return {
    replicas,
    name: isPerPod(target) ? externalName(metric) : `${kind} metric ${name}`,
    status: { type: "Object", object: { metric, current, describedObject } },
  };
}

function* externalProposal(
  client: MetricsClient,
  { metric = {}, target = {} }: MetricSource,
  scaled: ScaledTarget,
  tolerances: Tolerances,
): Steps<MetricProposal> {
  const { name = "" } = metric;
  const context = isPerPod(target) ? `failed to get ${name} external metric: ` : `failed to get external metric ${name}: `;
  const prefix = `unable to get external metric ${scaled.namespace}/${name}/${goSelector(metric.selector)}: `;
  const reading = client.external(name, scaled.namespace, formatLabelSelector(metric.selector));
  const values = yield* explained(prefix, reading, context);
  const total = isPerPod(target) ? perPodTotal(values) : values.reduce((sum, value) => sum + value, 0);
  const { replicas, current } = sharedOrDivided(scaled, total, target, tolerances);
  return { replicas, name: externalName(metric), status: { type: "External", external: { metric, current } } };
}

/** The real controller takes a negative sum as an overflow. Source: replica_calculator.go, `GetExternalPerPodMetricReplicas`. */
function perPodTotal(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) {
    sum += value;
    if (sum < 0) return Number(highest);
  }
  return sum;
}

function isPerPod({ averageValue }: MetricTarget): boolean {
  return averageValue !== undefined;
}

function sharedOrDivided(
  { pods, replicas, statusReplicas }: ScaledTarget,
  value: number,
  { value: total, averageValue }: MetricTarget,
  tolerances: Tolerances,
): { readonly replicas: number; readonly current: object } {
  if (averageValue !== undefined) {
    const divided = dividedReplicas(statusReplicas, value, milliOf(averageValue), tolerances);
    return { replicas: divided.replicas, current: { averageValue: quantityText(divided.milli) } };
  }
  const wanted = sharedReplicas(pods, replicas, value / milliOf(total), tolerances);
  return { replicas: wanted, current: { value: quantityText(value) } };
}

function externalName({ name, selector }: MetricIdentifier): string {
  return `external metric ${name}(${goSelector(selector)})`;
}

/** A label selector as Go prints the struct. */
function goSelector(selector: LabelSelector | undefined): string {
  if (selector === undefined) return "nil";
  const labels = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}: ${value},`);
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join("")}},MatchExpressions:[]LabelSelectorRequirement{},}`;
}

/** Resource of a described object, such as `ingresses.networking.k8s.io`. */
function resourceOf(kinds: readonly Kind[], { kind, apiVersion = "v1" }: { readonly kind?: string; readonly apiVersion?: string }): string {
  const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
  const found = kinds.find((one) => one.kind === kind && one.group === group);
  const plural = found?.plural ?? `${(kind ?? "").toLowerCase()}s`;
  return group === "" ? plural : `${plural}.${group}`;
}
