import type { ContainerStats, MetricFamily, MetricSample, NodeStats, PodStats } from "@virtual-kubelet/core";
import type { FullStatsSummary } from "./node-stats.ts";

/** Smallest CPU usage shown, because metrics-server drops a pod if one of its containers shows 0. */
const leastCpuNanoSeconds = 1;
const leastMemoryBytes = 1;

type Labels = Readonly<Record<string, string>>;
type Samples = readonly MetricSample[];

/**
 * Metrics of a kubelet's `/metrics/resource`, the only source of metrics-server: CPU time in core-seconds and memory in bytes, with their
 * timestamps. A measured 0 is shown as the smallest positive value. Values that were not measured are left out, and `resource_scrape_error`
 * is 1 if the summary is incomplete.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/metrics/collectors/resource_metrics.go.
 */
export function resourceMetrics({ node, pods: all, incomplete }: FullStatsSummary): readonly MetricFamily[] {
  const pods = lastOfEachName(all);
  const ofContainers = (sample: (container: ContainerStats, labels: Labels) => Samples): Samples =>
    pods.flatMap((pod) => pod.containers.flatMap((container) => sample(container, { container: container.name, ...podLabels(pod) })));
  const ofPods = (sample: (pod: PodStats, labels: Labels) => Samples): Samples => pods.flatMap((pod) => sample(pod, podLabels(pod)));
  const families: readonly MetricFamily[] = [
    counter(
      "container_cpu_usage_seconds_total",
      "STABLE",
      "Cumulative cpu time consumed by the container in core-seconds",
      ofContainers(cpu),
    ),
    gauge("container_memory_working_set_bytes", "STABLE", "Current working set of the container in bytes", ofContainers(memory)),
    gauge("container_start_time_seconds", "STABLE", "Start time of the container since unix epoch in seconds", ofContainers(startTime)),
    gauge(
      "container_swap_limit_bytes",
      "ALPHA",
      "Current amount of the container swap limit in bytes. Reported only on non-windows systems",
      ofContainers(swapLimit),
    ),
    gauge(
      "container_swap_usage_bytes",
      "ALPHA",
      "Current amount of the container swap usage in bytes. Reported only on non-windows systems",
      ofContainers(swapUsage),
    ),
    counter("node_cpu_usage_seconds_total", "STABLE", "Cumulative cpu time consumed by the node in core-seconds", cpu(node, {})),
    gauge("node_memory_working_set_bytes", "STABLE", "Current working set of the node in bytes", memory(node, {})),
    gauge(
      "node_swap_usage_bytes",
      "ALPHA",
      "Current swap usage of the node in bytes. Reported only on non-windows systems",
      swapUsage(node, {}),
    ),
    counter("pod_cpu_usage_seconds_total", "STABLE", "Cumulative cpu time consumed by the pod in core-seconds", ofPods(cpu)),
    gauge("pod_memory_working_set_bytes", "STABLE", "Current working set of the pod in bytes", ofPods(memory)),
    gauge(
      "pod_swap_usage_bytes",
      "ALPHA",
      "Current amount of the pod swap usage in bytes. Reported only on non-windows systems",
      ofPods(swapUsage),
    ),
    scrapeError(incomplete !== undefined),
  ];
  return families.filter(({ samples }) => samples.length > 0);
}

/** Metrics of `/metrics/resource` when the provider's stats could not be read. */
export function resourceScrapeError(): readonly MetricFamily[] {
  return [scrapeError(true)];
}

function scrapeError(hasFailed: boolean): MetricFamily {
  return gauge("resource_scrape_error", "STABLE", "1 if there was an error while getting container metrics, 0 otherwise", [
    { value: hasFailed ? 1 : 0 },
  ]);
}

/** The labels have no UID: of a pod that is still ending and its successor of the same name, the one that began last. */
function lastOfEachName(pods: readonly PodStats[]): readonly PodStats[] {
  const byStart = pods.toSorted((one, other) => Date.parse(one.startTime) - Date.parse(other.startTime));
  const last = new Map(byStart.map((pod) => [`${pod.podRef.namespace}/${pod.podRef.name}`, pod]));
  return last.size === pods.length ? pods : [...last.values()];
}

type Measured = Pick<NodeStats, "cpu" | "memory" | "swap">;

function cpu({ cpu: stats }: Measured, labels: Labels): Samples {
  const used = stats?.usageCoreNanoSeconds;
  return stats && used !== undefined ? timed(Math.max(used, leastCpuNanoSeconds) / 1e9, stats.time, labels) : [];
}

function memory({ memory: stats }: Measured, labels: Labels): Samples {
  const used = stats?.workingSetBytes;
  return stats && used !== undefined ? timed(Math.max(used, leastMemoryBytes), stats.time, labels) : [];
}

function swapUsage({ swap }: Measured, labels: Labels): Samples {
  return swap?.swapUsageBytes === undefined ? [] : timed(swap.swapUsageBytes, swap.time, labels);
}

function swapLimit({ swap }: ContainerStats, labels: Labels): Samples {
  if (swap?.swapUsageBytes === undefined || swap.swapAvailableBytes === undefined) return [];
  return timed(swap.swapAvailableBytes + swap.swapUsageBytes, swap.time, labels);
}

function startTime({ startTime: text }: ContainerStats, labels: Labels): Samples {
  const seconds = Date.parse(text) / 1000;
  return seconds > 0 ? [{ labels, value: seconds }] : [];
}

function timed(value: number, time: string, labels: Labels): Samples {
  const timestampMs = Date.parse(time);
  return [{ labels, value, ...(Number.isFinite(timestampMs) && { timestampMs }) }];
}

function podLabels({ podRef }: PodStats): Labels {
  return { namespace: podRef.namespace, pod: podRef.name };
}

function counter(name: string, stability: string, help: string, samples: Samples): MetricFamily {
  return { name, help: `[${stability}] ${help}`, type: "counter", samples };
}

function gauge(name: string, stability: string, help: string, samples: Samples): MetricFamily {
  return { name, help: `[${stability}] ${help}`, type: "gauge", samples };
}
