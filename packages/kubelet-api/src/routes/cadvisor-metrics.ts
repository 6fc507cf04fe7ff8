import type {
  CgroupStats,
  ContainerStats,
  FsStats,
  InterfaceStats,
  MetricFamily,
  MetricSample,
  NodeStats,
  PodStats,
  PsiStats,
} from "@virtual-kubelet/core";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { FullStatsSummary } from "@virtual-kubelet/metrics";
import { containerStatus } from "../logs/log-availability.ts";
import { machineMetrics } from "./machine-metrics.ts";

type Labels = Readonly<Record<string, string>>;

type Series<Source> = (source: Source, labels: Labels) => readonly MetricSample[];

/** Label for file systems whose device is unknown. */
const noDevice = { device: "" };

/**
 * The cAdvisor metrics that a stats summary has values for, with cAdvisor's names, labels and help texts: containers, pods (with an empty
 * `container`), the node (with the id `/`) and the machine.
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
    // Providers without control groups report no path.
    const id = pod.cgroup?.path ?? `/kubepods/pod${pod.podRef.uid}`;
    const labels = { ...nodeLabels, id, namespace: pod.podRef.namespace, pod: pod.podRef.name };
    usage.push({ stats: pod, labels });
    networks.push({ stats: pod, labels });
    for (const container of pod.containers)
      containers.push({
        stats: container,
        labels: { ...labels, ...containerLabels(byUid.get(pod.podRef.uid), container, id) },
      });
  }
  usage.push(...containers);
  const pressure = [
    psi("cpu", "CPU", ({ cpu: stats }) => [stats?.psi, stats?.time]),
    psi("memory", "memory", ({ memory: stats }) => [stats?.psi, stats?.time]),
    psi("io", "IO", ({ io: stats }) => [stats?.psi, stats?.time]),
  ].flat();
  const families: readonly MetricFamily[] = [
    family("container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed in seconds.", usage, cpu),
    family("container_memory_usage_bytes", "gauge", memoryUsageHelp, usage, memory("usageBytes")),
    family("container_memory_working_set_bytes", "gauge", "Current working set in bytes.", usage, memory("workingSetBytes")),
    family("container_memory_rss", "gauge", "Size of RSS in bytes.", usage, memory("rssBytes")),
    family("container_memory_swap", "gauge", "Container swap usage in bytes.", usage, swap),
    family("container_memory_failures_total", "counter", "Cumulative count of memory allocation failures.", usage, pageFaults),
    family("container_start_time_seconds", "gauge", "Start time of the container since unix epoch in seconds.", usage, startTime),
    family("container_last_seen", "gauge", "Last time a container was seen by the exporter", usage, lastSeen),
    ...cgroupFigures.map(({ name, type, help, value }) => family(name, type, help, usage, cgroupSeries(value))),
    ...cgroupLimits.map(({ name, help, value }) => family(name, "gauge", help, usage, limitSeries(value))),
    ...pressure.map(({ name, help, series }) => family(name, "counter", help, usage, series)),
    ...diskFigures.map(({ name, help, field }) => family(name, "counter", help, usage, disks(field))),
    ...fsFigures.map(({ name, help, field }) => family(name, "gauge", help, containers, fs(field))),
    ...networkFigures.map(({ name, help, field }) => family(name, "counter", help, networks, network(field))),
    family("container_processes", "gauge", "Number of processes running inside the container.", usage, processes),
    {
      name: "container_scrape_error",
      help: "1 if there was an error while getting container metrics, 0 otherwise",
      type: "gauge",
      samples: [{ value: incomplete === undefined ? 0 : 1 }],
    },
    ...(node.machine ? machineMetrics(node.machine) : []),
  ];
  return families.filter(({ samples }) => samples.length > 0);
}

const memoryUsageHelp = "Current memory usage in bytes, including all memory regardless of when it was accessed";

interface CgroupFigure {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  value(cgroup: CgroupStats): number | undefined;
}

/** Metric of the CPU quota, which cAdvisor shows only where a quota is set. */
function throttling(name: string, help: string, value: CgroupFigure["value"]): CgroupFigure {
  return { name, help, type: "counter", value: (cgroup) => (cgroup.cpuQuotaMicros === undefined ? undefined : value(cgroup)) };
}

const cgroupFigures: readonly CgroupFigure[] = [
  {
    name: "container_cpu_user_seconds_total",
    type: "counter",
    help: "Cumulative user cpu time consumed in seconds.",
    value: ({ cpuUserNanoSeconds }) => seconds(cpuUserNanoSeconds, 1e9),
  },
  {
    name: "container_cpu_system_seconds_total",
    type: "counter",
    help: "Cumulative system cpu time consumed in seconds.",
    value: ({ cpuSystemNanoSeconds }) => seconds(cpuSystemNanoSeconds, 1e9),
  },
  throttling("container_cpu_cfs_periods_total", "Number of elapsed enforcement period intervals.", ({ cpuPeriods }) => cpuPeriods),
  throttling(
    "container_cpu_cfs_throttled_periods_total",
    "Number of throttled period intervals.",
    ({ cpuThrottledPeriods }) => cpuThrottledPeriods,
  ),
  throttling(
    "container_cpu_cfs_throttled_seconds_total",
    "Total time duration the container has been throttled.",
    ({ cpuThrottledNanoSeconds }) => seconds(cpuThrottledNanoSeconds, 1e9),
  ),
  {
    name: "container_memory_cache",
    type: "gauge",
    help: "Number of bytes of page cache memory.",
    value: ({ memoryCacheBytes }) => memoryCacheBytes,
  },
  {
    name: "container_memory_mapped_file",
    type: "gauge",
    help: "Size of memory mapped files in bytes.",
    value: ({ memoryMappedFileBytes }) => memoryMappedFileBytes,
  },
  {
    name: "container_memory_kernel_usage",
    type: "gauge",
    help: "Size of kernel memory allocated in bytes.",
    value: ({ memoryKernelBytes }) => memoryKernelBytes,
  },
  {
    name: "container_memory_max_usage_bytes",
    type: "gauge",
    help: "Maximum memory usage recorded in bytes",
    value: ({ memoryMaxUsageBytes }) => memoryMaxUsageBytes,
  },
  {
    name: "container_memory_total_active_file_bytes",
    type: "gauge",
    help: "Current total active file in bytes.",
    value: ({ memoryActiveFileBytes }) => memoryActiveFileBytes,
  },
  {
    name: "container_memory_total_inactive_file_bytes",
    type: "gauge",
    help: "Current total inactive file in bytes.",
    value: ({ memoryInactiveFileBytes }) => memoryInactiveFileBytes,
  },
  {
    name: "container_memory_failcnt",
    type: "counter",
    help: "Number of memory usage hits limits",
    value: ({ memoryLimitHits }) => memoryLimitHits,
  },
  {
    name: "container_oom_events_total",
    type: "counter",
    help: "Count of out of memory events observed for the container",
    value: ({ oomKills }) => oomKills,
  },
  {
    name: "container_file_descriptors",
    type: "gauge",
    help: "Number of open file descriptors for the container.",
    value: ({ fileDescriptors }) => fileDescriptors,
  },
  {
    name: "container_sockets",
    type: "gauge",
    help: "Number of open sockets for the container.",
    value: ({ sockets }) => sockets,
  },
  { name: "container_threads", type: "gauge", help: "Number of threads running inside the container", value: ({ threads }) => threads },
  {
    name: "container_threads_max",
    type: "gauge",
    help: "Maximum number of threads allowed inside the container, infinity if value is zero",
    value: ({ threads, maxThreads = 0 }) => (threads === undefined ? undefined : maxThreads),
  },
];

/** Limits of a control group. As in cAdvisor they have no timestamp, and a memory limit that is not set is 0. */
const cgroupLimits: readonly Omit<CgroupFigure, "type">[] = [
  { name: "container_spec_cpu_period", help: "CPU period of the container.", value: ({ cpuPeriodMicros }) => cpuPeriodMicros },
  { name: "container_spec_cpu_quota", help: "CPU quota of the container.", value: ({ cpuQuotaMicros }) => cpuQuotaMicros },
  { name: "container_spec_cpu_shares", help: "CPU share of the container.", value: ({ cpuShares }) => cpuShares },
  {
    name: "container_spec_memory_limit_bytes",
    help: "Memory limit for the container.",
    value: ({ memoryLimitBytes = 0 }) => memoryLimitBytes,
  },
  {
    name: "container_spec_memory_swap_limit_bytes",
    help: "Memory swap limit for the container.",
    value: ({ memorySwapLimitBytes = 0 }) => memorySwapLimitBytes,
  },
  {
    name: "container_spec_memory_reservation_limit_bytes",
    help: "Memory reservation limit for the container.",
    value: ({ memoryReservationBytes = 0 }) => memoryReservationBytes,
  },
];

const diskFigures = [
  { name: "container_fs_reads_bytes_total", help: "Cumulative count of bytes read", field: "readBytes" },
  { name: "container_fs_reads_total", help: "Cumulative count of reads completed", field: "reads" },
  { name: "container_fs_writes_bytes_total", help: "Cumulative count of bytes written", field: "writtenBytes" },
  { name: "container_fs_writes_total", help: "Cumulative count of writes completed", field: "writes" },
] as const;

const fsFigures = [
  {
    name: "container_fs_usage_bytes",
    help: "Number of bytes that are consumed by the container on this filesystem.",
    field: "usedBytes",
  },
  {
    name: "container_fs_limit_bytes",
    help: "Number of bytes that can be consumed by the container on this filesystem.",
    field: "capacityBytes",
  },
  { name: "container_fs_inodes_free", help: "Number of available Inodes", field: "inodesFree" },
  { name: "container_fs_inodes_total", help: "Number of Inodes", field: "inodes" },
] as const;

const networkFigures = [
  { name: "container_network_receive_bytes_total", help: "Cumulative count of bytes received", field: "rxBytes" },
  { name: "container_network_receive_packets_total", help: "Cumulative count of packets received", field: "rxPackets" },
  {
    name: "container_network_receive_packets_dropped_total",
    help: "Cumulative count of packets dropped while receiving",
    field: "rxDropped",
  },
  {
    name: "container_network_receive_errors_total",
    help: "Cumulative count of errors encountered while receiving",
    field: "rxErrors",
  },
  { name: "container_network_transmit_bytes_total", help: "Cumulative count of bytes transmitted", field: "txBytes" },
  { name: "container_network_transmit_packets_total", help: "Cumulative count of packets transmitted", field: "txPackets" },
  {
    name: "container_network_transmit_packets_dropped_total",
    help: "Cumulative count of packets dropped while transmitting",
    field: "txDropped",
  },
  {
    name: "container_network_transmit_errors_total",
    help: "Cumulative count of errors encountered while transmitting",
    field: "txErrors",
  },
] as const;

/** Stats with the labels of their series. */
interface Measured<Stats = Pick<ContainerStats, "startTime" | "cpu" | "memory" | "swap" | "io" | "cgroup">> {
  readonly stats: Stats;
  readonly labels: Labels;
}

function containerLabels(pod: DeepReadonly<Pod> | undefined, { name, cgroup }: ContainerStats, podId: string): Labels {
  const status = pod && containerStatus(pod, name);
  const containerId = status?.containerID?.replace(/^[^:]*:\/\//, "") ?? "";
  return { container: name, id: cgroup?.path ?? `${podId}/${containerId || name}`, image: status?.image ?? "", name: containerId };
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

function network(field: Exclude<keyof InterfaceStats, "name">): Series<NodeStats | PodStats> {
  return ({ network: stats }, labels) => {
    if (!stats) return [];
    const interfaces = stats.interfaces ?? [stats];
    return interfaces.flatMap((each) => sample(each[field], stats.time, { ...labels, interface: each.name ?? "" }));
  };
}

function processes(stats: Used, labels: Labels): readonly MetricSample[] {
  const { cgroup } = stats;
  if (cgroup) return sample(cgroup.processes, cgroup.time, labels);
  return "process_stats" in stats ? sample((stats as PodStats).process_stats?.process_count, stats.cpu?.time, labels) : [];
}

function cgroupSeries(value: CgroupFigure["value"]): Series<Used> {
  return ({ cgroup }, labels) => (cgroup ? sample(value(cgroup), cgroup.time, labels) : []);
}

function limitSeries(value: CgroupFigure["value"]): Series<Used> {
  return ({ cgroup }, labels) => (cgroup ? sample(value(cgroup), undefined, labels) : []);
}

function disks(field: "readBytes" | "writtenBytes" | "reads" | "writes"): Series<Used> {
  return ({ cgroup }, labels) =>
    cgroup?.disks?.flatMap((disk) => sample(disk[field], cgroup.time, { ...labels, device: disk.device })) ?? [];
}

interface PressureFamily {
  readonly name: string;
  readonly help: string;
  readonly series: Series<Used>;
}

function psi(
  resource: string,
  word: string,
  read: (stats: Used) => readonly [PsiStats | undefined, string | undefined],
): readonly PressureFamily[] {
  const series =
    (kind: keyof PsiStats): Series<Used> =>
    (stats, labels) => {
      const [pressure, time] = read(stats);
      return sample(seconds(pressure?.[kind].total, 1e6), time, labels);
    };
  return [
    {
      name: `container_pressure_${resource}_stalled_seconds_total`,
      help: `Total time duration no tasks in the container could make progress due to ${word} congestion.`,
      series: series("full"),
    },
    {
      name: `container_pressure_${resource}_waiting_seconds_total`,
      help: `Total time duration tasks in the container have waited due to ${word} congestion.`,
      series: series("some"),
    },
  ];
}

function seconds(value: number | undefined, unitsInSecond: number): number | undefined {
  return value === undefined ? undefined : value / unitsInSecond;
}
