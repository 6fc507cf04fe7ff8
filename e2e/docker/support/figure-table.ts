import type { FullStatsSummary } from "../../../packages/metrics/src/index.ts";
import type { Reading } from "./kernel-figures.ts";

/** A figure of the node, with the reference values that were read before and after it was measured. */
export interface ComparedFigure {
  readonly name: string;
  /** Place where the node exposes the figure. */
  readonly shown: string;
  readonly value: number;
  readonly before: number;
  readonly after: number;
  /** Relative distance of the value from the range between the two readings; 0 within the range. */
  readonly error: number;
}

/** Figures of a pod `web` with a container `busy`: name in a {@link Reading}, place where the figure is exposed, and path in a summary. */
const figures: readonly (readonly [name: string, shown: string, path: string])[] = [
  ["container: CPU time", "`cpu.usageCoreNanoSeconds`", "container.cpu.usageCoreNanoSeconds"],
  ["container: CPU time in user space", "`container_cpu_user_seconds_total`", "container.cgroup.cpuUserNanoSeconds"],
  ["container: CPU time in the kernel", "`container_cpu_system_seconds_total`", "container.cgroup.cpuSystemNanoSeconds"],
  ["container: CPU periods", "`container_cpu_cfs_periods_total`", "container.cgroup.cpuPeriods"],
  ["container: throttled periods", "`container_cpu_cfs_throttled_periods_total`", "container.cgroup.cpuThrottledPeriods"],
  ["container: throttled time", "`container_cpu_cfs_throttled_seconds_total`", "container.cgroup.cpuThrottledNanoSeconds"],
  ["container: CPU quota", "`container_spec_cpu_quota`", "container.cgroup.cpuQuotaMicros"],
  ["container: pressure on CPU", "`cpu.psi.some.total`", "container.cpu.psi.some.total"],
  ["container: memory", "`memory.usageBytes`", "container.memory.usageBytes"],
  ["container: working set", "`memory.workingSetBytes`", "container.memory.workingSetBytes"],
  ["container: memory left of the limit", "`memory.availableBytes`", "container.memory.availableBytes"],
  ["container: memory limit", "`container_spec_memory_limit_bytes`", "container.cgroup.memoryLimitBytes"],
  ["container: RSS", "`memory.rssBytes`", "container.memory.rssBytes"],
  ["container: page cache", "`container_memory_cache`", "container.cgroup.memoryCacheBytes"],
  ["container: mapped files", "`container_memory_mapped_file`", "container.cgroup.memoryMappedFileBytes"],
  ["container: page faults", "`memory.pageFaults`", "container.memory.pageFaults"],
  ["container: most memory", "`container_memory_max_usage_bytes`", "container.cgroup.memoryMaxUsageBytes"],
  ["container: processes", "`container_processes`", "container.cgroup.processes"],
  ["container: threads", "`container_threads`", "container.cgroup.threads"],
  ["container: writable layer", "`rootfs.usedBytes`", "container.rootfs.usedBytes"],
  ["container: inodes of the writable layer", "`rootfs.inodesUsed`", "container.rootfs.inodesUsed"],
  ["container: open files", "`container_file_descriptors`", "container.cgroup.fileDescriptors"],
  ["container: sockets", "`container_sockets`", "container.cgroup.sockets"],
  ["container: log with rotated files", "`logs.usedBytes`", "container.logs.usedBytes"],
  ["pod: CPU time", "`cpu.usageCoreNanoSeconds`", "pod.cpu.usageCoreNanoSeconds"],
  ["pod: memory", "`memory.usageBytes`", "pod.memory.usageBytes"],
  ["pod: working set", "`memory.workingSetBytes`", "pod.memory.workingSetBytes"],
  ["pod: processes", "`process_stats.process_count`", "pod.process_stats.process_count"],
  ["pod: bytes received", "`network.rxBytes`", "pod.network.rxBytes"],
  ["pod: packets received", "`container_network_receive_packets_total`", "pod.network.rxPackets"],
  ["pod: bytes sent", "`network.txBytes`", "pod.network.txBytes"],
  ["pod: packets sent", "`container_network_transmit_packets_total`", "pod.network.txPackets"],
  ["pod: volume", "`volume[].usedBytes`", "pod.volume.0.usedBytes"],
  ["pod: ephemeral storage", "`ephemeral-storage.usedBytes`", "pod.ephemeral-storage.usedBytes"],
  ["all pods: CPU time", "`systemContainers[pods].cpu`", "all.cpu.usageCoreNanoSeconds"],
  ["all pods: memory", "`systemContainers[pods].memory`", "all.memory.usageBytes"],
  ["node: CPU time", "`cpu.usageCoreNanoSeconds`", "node.cpu.usageCoreNanoSeconds"],
  ["node: memory", "`memory.usageBytes`", "node.memory.usageBytes"],
  ["node: working set", "`memory.workingSetBytes`", "node.memory.workingSetBytes"],
  ["node: swap", "`swap.swapUsageBytes`", "node.swap.swapUsageBytes"],
  ["node: pressure on CPU", "`cpu.psi.some.total`", "node.cpu.psi.some.total"],
  ["node: processes and threads", "`rlimit.curproc`", "node.rlimit.curproc"],
  ["node: disk in use", "`fs.usedBytes`", "node.fs.usedBytes"],
  ["node: size of the disk", "`fs.capacityBytes`", "node.fs.capacityBytes"],
  ["node: inodes left", "`fs.inodesFree`", "node.fs.inodesFree"],
  ["images: in use", "`runtime.imageFs.usedBytes`", "node.runtime.imageFs.usedBytes"],
  ["images: size of the disk", "`runtime.imageFs.capacityBytes`", "node.runtime.imageFs.capacityBytes"],
];

/** The value at a path such as `pod.memory.usageBytes`. */
function valueAt({ node, pods }: FullStatsSummary, path: string): number | undefined {
  const pod = pods.find(({ podRef }) => podRef.name === "web");
  const container = pod?.containers.find(({ name }) => name === "busy");
  const all = node.systemContainers?.find(({ name }) => name === "pods");
  const found = path.split(".").reduce<unknown>((value, key) => Object(value)[key] as unknown, { node, pod, container, all });
  return typeof found === "number" ? found : undefined;
}

/** Compares each figure of the readings. @throws Error for a figure that the node does not expose */
export function compareFigures(summary: FullStatsSummary, before: Reading, after: Reading): readonly ComparedFigure[] {
  return Object.keys(before).map((name) => {
    const [, shown = "", path = ""] = figures.find(([own]) => own === name) ?? [];
    const value = valueAt(summary, path);
    if (value === undefined) throw new Error(`the node's summary has no figure "${name}"`);
    const [first, second] = [before[name] ?? NaN, after[name] ?? NaN];
    const [least, most] = [Math.min(first, second), Math.max(first, second)];
    const off = value < least ? least - value : Math.max(0, value - most);
    return { name, shown, value, before: first, after: second, error: off === 0 ? 0 : off / Math.max(Math.abs(most), 1) };
  });
}

/** The figures as a Markdown table. */
export function figureTable(figures: readonly ComparedFigure[]): string {
  const rows = figures.map(({ name, shown, value, before, after, error }) => {
    const percent = error === 0 ? "0" : `${(error * 100).toFixed(2)} %`;
    return `| ${name} | ${shown} | ${spaced(before)} | ${spaced(value)} | ${spaced(after)} | ${percent} |`;
  });
  return ["| Figure | Shown as | Read before | Shown | Read after | Error |", "| --- | --- | --- | --- | --- | --- |", ...rows].join("\n");
}

function spaced(value: number): string {
  return Math.round(value).toLocaleString("en").replaceAll(",", " ");
}
