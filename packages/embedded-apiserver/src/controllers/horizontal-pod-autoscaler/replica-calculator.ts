import type { Container } from "../../kinds/pod/pod-fields.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { milliUnits, parseQuantity, podRequests } from "@virtual-kubelet/kubernetes";
import { MetricsError, type PodMetric, type PodMetrics } from "./metrics-client.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/controller/podautoscaler/replica_calculator.go and metrics/utilization.go. */

/** Deviations from the target that change nothing, as parts of it. */
export interface Tolerances {
  readonly scaleDown: number;
  readonly scaleUp: number;
}

/** Time after its start during which the usage of an unready pod's processor is ignored. */
const cpuInitializationMs = 5 * 60_000;
const initialReadinessDelayMs = 30_000;

function isWithin({ scaleDown, scaleUp }: Tolerances, ratio: number): boolean {
  return 1 - scaleDown <= ratio && ratio <= 1 + scaleUp;
}

interface PodGroups {
  readonly readyCount: number;
  readonly unready: ReadonlySet<string>;
  readonly missing: ReadonlySet<string>;
  readonly ignored: ReadonlySet<string>;
}

/** What the desired replicas of a metric of pods are computed from. */
export interface PodsCalculation {
  readonly pods: readonly Readonly<ApiObject>[];
  readonly metrics: PodMetrics;
  /** Resource of the metric; the readiness of pods matters only for `cpu`. */
  readonly resource: string;
  readonly replicas: number;
  readonly tolerances: Tolerances;
  readonly nowMs: number;
}

/** Result for one metric. */
export interface Proposal {
  readonly replicas: number;
  /** Average of a pod, in thousandths. */
  readonly milli: number;
  /** Percent of the requests, for a target of that kind. */
  readonly utilization?: number;
}

/** Desired replicas for a target in percent of the pods' requests. @throws MetricsError if it cannot be computed */
export function utilizationReplicas(calculation: PodsCalculation, percent: number, container?: string): Proposal {
  const { groups, measured } = measuredPods(calculation);
  const requests = requestsOf(calculation.pods, calculation.resource, container);
  const usageOf = (metrics: ReadonlyMap<string, number>): { ratio: number; utilization: number; milli: number } =>
    utilizationRatio(metrics, requests, percent);
  const { ratio, utilization, milli } = usageOf(measured);
  const replicas = replicasFor(calculation, groups, {
    measured,
    ratio,
    ratioOf: (metrics) => usageOf(metrics).ratio,
    missingOnScaleDown: (name) => ((requests.get(name) ?? 0) * Math.max(100, percent)) / 100,
  });
  return { replicas, milli, utilization };
}

/** Desired replicas for a target value of each pod. @param target - in thousandths @throws MetricsError if it cannot be computed */
export function averageReplicas(calculation: PodsCalculation, target: number): Proposal {
  const { groups, measured } = measuredPods(calculation);
  const average = (metrics: ReadonlyMap<string, number>): number => Math.trunc(sum(metrics) / metrics.size);
  const milli = average(measured);
  const replicas = replicasFor(calculation, groups, {
    measured,
    ratio: milli / target,
    ratioOf: (metrics) => average(metrics) / target,
    missingOnScaleDown: () => target,
  });
  return { replicas, milli };
}

function measuredPods(calculation: PodsCalculation): { readonly groups: PodGroups; readonly measured: ReadonlyMap<string, number> } {
  if (calculation.pods.length === 0) throw new MetricsError("no pods returned by selector while calculating replica count");
  const groups = groupPods(calculation);
  const counted = [...calculation.metrics].filter(([name]) => !groups.ignored.has(name) && !groups.unready.has(name));
  if (counted.length === 0) throw new MetricsError("did not receive metrics for targeted pods (pods might be unready)");
  return { groups, measured: new Map(counted.map(([name, { milli }]) => [name, milli])) };
}

interface Usage {
  readonly measured: ReadonlyMap<string, number>;
  readonly ratio: number;
  readonly ratioOf: (metrics: ReadonlyMap<string, number>) => number;
  readonly missingOnScaleDown: (pod: string) => number;
}

/** Assumes the least change for pods without a usable value: full usage when scaling down, none when scaling up. */
function replicasFor({ replicas, tolerances }: PodsCalculation, groups: PodGroups, usage: Usage): number {
  const { measured, ratio, ratioOf, missingOnScaleDown } = usage;
  const countsUnready = groups.unready.size > 0 && ratio > 1;
  if (!countsUnready && groups.missing.size === 0) return isWithin(tolerances, ratio) ? replicas : Math.ceil(ratio * groups.readyCount);
  const assumed = new Map(measured);
  for (const name of groups.missing) {
    if (ratio < 1) assumed.set(name, missingOnScaleDown(name));
    else if (ratio > 1) assumed.set(name, 0);
  }
  if (countsUnready) for (const name of groups.unready) assumed.set(name, 0);
  const next = ratioOf(assumed);
  if (isWithin(tolerances, next) || (ratio < 1 && next > 1) || (ratio > 1 && next < 1)) return replicas;
  const wanted = Math.ceil(next * assumed.size);
  return (next < 1 && wanted > replicas) || (next > 1 && wanted < replicas) ? replicas : wanted;
}

function sum(metrics: ReadonlyMap<string, number>): number {
  return [...metrics.values()].reduce((total, value) => total + value, 0);
}

function utilizationRatio(
  metrics: ReadonlyMap<string, number>,
  requests: ReadonlyMap<string, number>,
  percent: number,
): { ratio: number; utilization: number; milli: number } {
  const known = [...metrics].filter(([name]) => requests.has(name));
  const requested = known.reduce((total, [name]) => total + (requests.get(name) ?? 0), 0);
  if (requested === 0) throw new MetricsError("no metrics returned matched known pods");
  const used = known.reduce((total, [, milli]) => total + milli, 0);
  const utilization = Math.trunc((used * 100) / requested);
  return { ratio: utilization / percent, utilization, milli: Math.trunc(used / known.length) };
}

function groupPods({ pods, metrics, resource, nowMs }: PodsCalculation): PodGroups {
  const [unready, missing, ignored] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let readyCount = 0;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const { phase } = pod["status"];
    const metric = metrics.get(name);
    if (deletionTimestamp !== undefined || phase === "Failed") ignored.add(name);
    else if (phase === "Pending") unready.add(name);
    else if (metric === undefined) missing.add(name);
    else if (resource === "cpu" && isUnready(pod, metric, nowMs)) unready.add(name);
    else readyCount++;
  }
  return { readyCount, unready, missing, ignored };
}

function isUnready({ status }: Readonly<ApiObject>, metric: PodMetric, nowMs: number): boolean {
  const conditions: readonly { type: string; status: string; lastTransitionTime?: string }[] = status.conditions ?? [];
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready === undefined || status.startTime === undefined) return true;
  const startMs = Date.parse(status.startTime);
  const changedMs = Date.parse(ready.lastTransitionTime ?? "");
  return startMs + cpuInitializationMs > nowMs
    ? ready.status === "False" || metric.timestampMs < changedMs + metric.windowMs
    : ready.status === "False" && startMs + initialReadinessDelayMs > changedMs;
}

/** Requests of the pods in thousandths. @throws MetricsError if a pod or a container requests nothing */
function requestsOf(pods: readonly Readonly<ApiObject>[], resource: string, container: string | undefined): ReadonlyMap<string, number> {
  return new Map(pods.map((pod) => [pod.metadata.name, requestOf(pod, resource, container)]));
}

function requestOf({ metadata, spec }: Readonly<ApiObject>, resource: string, container: string | undefined): number {
  if (container === undefined && Object.keys(spec.resources?.requests ?? {}).length > 0) {
    const request = podRequests(spec).get(resource);
    if (request === undefined) throw new MetricsError(`missing pod-level request for ${resource} in Pod ${metadata.name}`);
    return Number(milliUnits(request));
  }
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }: Container) => restartPolicy === "Always");
  const containers = [...(spec.containers as Container[]), ...sidecars].filter(({ name }) => container === undefined || name === container);
  if (containers.length === 0) throw new MetricsError(`container ${container} not found in Pod ${metadata.name}`);
  return containers.reduce((total, { name, resources }) => {
    const request = resources.requests?.[resource];
    if (request === undefined) throw new MetricsError(`missing request for ${resource} in container ${name} of Pod ${metadata.name}`);
    return total + Number(milliUnits(parseQuantity(request)));
  }, 0);
}

/** Desired replicas for a value of something else than pods, of which every ready pod has a share. */
export function sharedReplicas(pods: readonly Readonly<ApiObject>[], replicas: number, ratio: number, tolerances: Tolerances): number {
  if (replicas === 0) return Math.ceil(ratio);
  if (isWithin(tolerances, ratio)) return replicas;
  if (pods.length === 0)
    throw new MetricsError("unable to calculate ready pods: no pods returned by selector while calculating replica count");
  const ready = pods.filter(({ status }) => {
    const conditions: readonly { type: string; status: string }[] = status.conditions ?? [];
    return status.phase === "Running" && conditions.some((one) => one.type === "Ready" && one.status === "True");
  });
  return Math.min(Math.ceil(ratio * ready.length), 2 ** 31 - 1);
}

/** Desired replicas for a value that is divided among the replicas. @returns also the average in thousandths */
export function dividedReplicas(replicas: number, total: number, target: number, tolerances: Tolerances): Proposal {
  const ratio = total / (target * replicas);
  const wanted = isWithin(tolerances, ratio) ? replicas : Math.min(Math.ceil(total / target), 2 ** 31 - 1);
  return { replicas: wanted, milli: total >= 2 ** 63 ? total : Math.ceil(total / replicas) };
}
