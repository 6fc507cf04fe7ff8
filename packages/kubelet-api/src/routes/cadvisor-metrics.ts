import type { ContainerStats, FsStats, MetricFamily, MetricSample, NodeStats, PodStats } from "@virtual-kubelet/core";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { FullStatsSummary } from "@virtual-kubelet/metrics";
import { containerStatus } from "../logs/log-availability.ts";

type Labels = Readonly<Record<string, string>>;

/** A series that something has or has not. */
type Series<Source> = (source: Source, labels: Labels) => readonly MetricSample[];

/** The device of a file system that has none to show. */
const noDevice = { device: "" };

/**
 * Those of cAdvisor's figures that a summary holds, under its names and labels: containers, pods (with an empty
 * `container`) and the node (with the id `/`). What the summary does not say is left out.
 *
 * Source: cadvisor v0.56.2 metrics/prometheus.go.
 */
export function cadvisorMetrics(
  { node, pods, incomplete }: FullStatsSummary,
  known: readonly DeepReadonly<Pod>[],
): readonly MetricFamily[] {
  const byUid = new Map(known.map((pod) => [pod.metadata?.uid, pod]));
  const nodeLabels = { container: "", id: "/", image: "", name: "", namespace: "", pod: "" };
  const usage: Measured[] = [{ stats: node, labels: nodeLabels }];
  const networks: Measured<NodeStats | PodStats>[] = [{ stats: node, labels: nodeLabels }];
  const containers: Measured<ContainerStats>[] = [];
  for (const pod of pods) {
    const labels = { ...nodeLabels, id: `/kubepods/pod${pod.podRef.uid}`, namespace: pod.podRef.namespace, pod: pod.podRef.name };
    usage.push({ stats: pod, labels });
    networks.push({ stats: pod, labels });
    for (const container of pod.containers)
      containers.push({
        stats: container,
        labels: { ...labels, ...containerLabels(byUid.get(pod.podRef.uid), container.name, labels.id) },
      });
  }
  usage.push(...containers);
  const families: readonly MetricFamily[] = [
    family("container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed in seconds.", usage, cpu),
    family("container_memory_usage_bytes", "gauge", "Current memory usage in bytes.", usage, memory("usageBytes")),
    family("container_memory_working_set_bytes", "gauge", "Current working set in bytes.", usage, memory("workingSetBytes")),
    family("container_memory_rss", "gauge", "Size of RSS in bytes.", usage, memory("rssBytes")),
    family("container_memory_swap", "gauge", "Container swap usage in bytes.", usage, swap),
    family("container_memory_failures_total", "counter", "Cumulative count of memory allocation failures.", usage, pageFaults),
    family("container_start_time_seconds", "gauge", "Start time of the container since unix epoch in seconds.", usage, startTime),
    family("container_last_seen", "gauge", "Last time a container was seen by the exporter", usage, lastSeen),
    family(
      "container_fs_usage_bytes",
      "gauge",
      "Number of bytes that are consumed by the container on this filesystem.",
      containers,
      fs("usedBytes"),
    ),
    family(
      "container_fs_limit_bytes",
      "gauge",
      "Number of bytes that can be consumed by the container on this filesystem.",
      containers,
      fs("capacityBytes"),
    ),
    family("container_fs_inodes_free", "gauge", "Number of available Inodes", containers, fs("inodesFree")),
    family("container_fs_inodes_total", "gauge", "Number of Inodes", containers, fs("inodes")),
    family("container_network_receive_bytes_total", "counter", "Cumulative count of bytes received", networks, network("rxBytes")),
    family(
      "container_network_receive_errors_total",
      "counter",
      "Cumulative count of errors encountered while receiving",
      networks,
      network("rxErrors"),
    ),
    family("container_network_transmit_bytes_total", "counter", "Cumulative count of bytes transmitted", networks, network("txBytes")),
    family(
      "container_network_transmit_errors_total",
      "counter",
      "Cumulative count of errors encountered while transmitting",
      networks,
      network("txErrors"),
    ),
    family("container_processes", "gauge", "Number of processes running inside the container.", networks, processes),
    {
      name: "container_scrape_error",
      help: "1 if there was an error while getting container metrics, 0 otherwise",
      type: "gauge",
      samples: [{ value: incomplete === undefined ? 0 : 1 }],
    },
  ];
  return families.filter(({ samples }) => samples.length > 0);
}

/** Something that was measured, with the labels of its series. */
interface Measured<Stats = Pick<ContainerStats, "startTime" | "cpu" | "memory" | "swap">> {
  readonly stats: Stats;
  readonly labels: Labels;
}

function containerLabels(pod: DeepReadonly<Pod> | undefined, name: string, podId: string): Labels {
  const status = pod && containerStatus(pod, name);
  const containerId = status?.containerID?.replace(/^[^:]*:\/\//, "") ?? "";
  return { container: name, id: `${podId}/${containerId || name}`, image: status?.image ?? "", name: containerId };
}

function family<Stats>(
  name: string,
  type: "counter" | "gauge",
  help: string,
  measured: readonly Measured<Stats>[],
  series: Series<Stats>,
): MetricFamily {
  return { name, help, type, samples: measured.flatMap(({ stats, labels }) => series(stats, labels)) };
}

function sample(value: number | undefined, time: string | undefined, labels: Labels): readonly MetricSample[] {
  if (value === undefined) return [];
  const timestampMs = Date.parse(time ?? "");
  return [{ labels, value, ...(Number.isFinite(timestampMs) && { timestampMs }) }];
}

type Used = Measured["stats"];

function cpu({ cpu: stats }: Used, labels: Labels): readonly MetricSample[] {
  const used = stats?.usageCoreNanoSeconds;
  return sample(used === undefined ? undefined : used / 1e9, stats?.time, { ...labels, cpu: "total" });
}

function memory(field: "usageBytes" | "workingSetBytes" | "rssBytes"): Series<Used> {
  return ({ memory: stats }, labels) => sample(stats?.[field], stats?.time, labels);
}

function swap({ swap: stats }: Used, labels: Labels): readonly MetricSample[] {
  return sample(stats?.swapUsageBytes, stats?.time, labels);
}

function pageFaults({ memory: stats }: Used, labels: Labels): readonly MetricSample[] {
  return [
    ...sample(stats?.pageFaults, stats?.time, { ...labels, failure_type: "pgfault", scope: "container" }),
    ...sample(stats?.majorPageFaults, stats?.time, { ...labels, failure_type: "pgmajfault", scope: "container" }),
  ];
}

function startTime({ startTime: text }: Used, labels: Labels): readonly MetricSample[] {
  const seconds = Date.parse(text) / 1000;
  return seconds > 0 ? [{ labels, value: seconds }] : [];
}

function lastSeen({ cpu: stats, memory: other }: Used, labels: Labels): readonly MetricSample[] {
  const time = stats?.time ?? other?.time;
  const seconds = Date.parse(time ?? "") / 1000;
  return Number.isFinite(seconds) ? sample(Math.floor(seconds), time, labels) : [];
}

function fs(field: keyof Omit<FsStats, "time">): Series<ContainerStats> {
  return ({ rootfs }, labels) => sample(rootfs?.[field], rootfs?.time, { ...labels, ...noDevice });
}

function network(field: "rxBytes" | "rxErrors" | "txBytes" | "txErrors"): Series<NodeStats | PodStats> {
  return ({ network: stats }, labels) => {
    if (!stats) return [];
    const interfaces = stats.interfaces ?? [stats];
    return interfaces.flatMap((each) => sample(each[field], stats.time, { ...labels, interface: each.name ?? "" }));
  };
}

function processes(stats: NodeStats | PodStats, labels: Labels): readonly MetricSample[] {
  return "process_stats" in stats ? sample(stats.process_stats?.process_count, stats.cpu?.time, labels) : [];
}
