/** Share of the time in which tasks waited for a resource: percentages over 10, 60 and 300 seconds, and the total in microseconds. */
export interface PsiData {
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

/** The kernel's pressure stall information of one resource: time in which all tasks waited, and in which some did. */
export interface PsiStats {
  readonly full: PsiData;
  readonly some: PsiData;
}

/** Use of the processor. */
export interface CpuStats {
  /** When it was measured, RFC 3339. */
  readonly time: string;
  /** Billionths of a core over the last seconds. */
  readonly usageNanoCores?: number | undefined;
  /** Core-nanoseconds since the container began; never falls. */
  readonly usageCoreNanoSeconds?: number | undefined;
  readonly psi?: PsiStats | undefined;
}

/** Use of memory, in bytes. */
export interface MemoryStats {
  readonly time: string;
  readonly availableBytes?: number | undefined;
  readonly usageBytes?: number | undefined;
  /** What cannot be reclaimed; the figure that `kubectl top` shows. */
  readonly workingSetBytes?: number | undefined;
  readonly rssBytes?: number | undefined;
  readonly pageFaults?: number | undefined;
  readonly majorPageFaults?: number | undefined;
  readonly psi?: PsiStats | undefined;
}

/** Pressure on disks. */
export interface IoStats {
  readonly time: string;
  readonly psi?: PsiStats | undefined;
}

/** Use of swap, in bytes. */
export interface SwapStats {
  readonly time: string;
  readonly swapAvailableBytes?: number | undefined;
  readonly swapUsageBytes?: number | undefined;
}

/** Traffic of one interface since it came up. */
export interface InterfaceStats {
  readonly name?: string | undefined;
  readonly rxBytes?: number | undefined;
  readonly rxErrors?: number | undefined;
  readonly txBytes?: number | undefined;
  readonly txErrors?: number | undefined;
  /** Packets are shown by `/metrics/cadvisor` alone. */
  readonly rxPackets?: number | undefined;
  readonly rxDropped?: number | undefined;
  readonly txPackets?: number | undefined;
  readonly txDropped?: number | undefined;
}

/** Traffic: the default interface's figures, and all interfaces. */
export interface NetworkStats extends InterfaceStats {
  readonly time: string;
  readonly interfaces?: readonly InterfaceStats[] | undefined;
}

/** Use of a file system, in bytes and inodes. */
export interface FsStats {
  readonly time: string;
  readonly availableBytes?: number | undefined;
  readonly capacityBytes?: number | undefined;
  readonly usedBytes?: number | undefined;
  readonly inodesFree?: number | undefined;
  readonly inodes?: number | undefined;
  readonly inodesUsed?: number | undefined;
}

/** Traffic of a control group with one disk since the group was made. */
export interface DiskIoStats {
  /** Path of the device, such as `/dev/sda`. */
  readonly device: string;
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/**
 * Figures of a control group that `/metrics/cadvisor` shows and `/stats/summary` does not. What the kernel does not count is
 * left out; so is a limit that is not set.
 */
export interface CgroupStats {
  /** When it was measured, RFC 3339. */
  readonly time: string;
  /** Path below the root of the hierarchy, such as `/vkpods/burstable/podUID`. */
  readonly path: string;
  readonly cpuUserNanoSeconds?: number | undefined;
  readonly cpuSystemNanoSeconds?: number | undefined;
  /** Periods of the CPU quota that have passed, those in which it was used up, and how long tasks then waited. */
  readonly cpuPeriods?: number | undefined;
  readonly cpuThrottledPeriods?: number | undefined;
  readonly cpuThrottledNanoSeconds?: number | undefined;
  readonly memoryCacheBytes?: number | undefined;
  readonly memoryMappedFileBytes?: number | undefined;
  readonly memoryKernelBytes?: number | undefined;
  readonly memoryMaxUsageBytes?: number | undefined;
  readonly memoryActiveFileBytes?: number | undefined;
  readonly memoryInactiveFileBytes?: number | undefined;
  /** How often the memory limit was reached. */
  readonly memoryLimitHits?: number | undefined;
  /** Processes that were killed because the memory limit was reached. */
  readonly oomKills?: number | undefined;
  readonly processes?: number | undefined;
  readonly threads?: number | undefined;
  readonly maxThreads?: number | undefined;
  /** Open files of all processes, and those of them that are sockets. */
  readonly fileDescriptors?: number | undefined;
  readonly sockets?: number | undefined;
  readonly disks?: readonly DiskIoStats[] | undefined;
  readonly cpuShares?: number | undefined;
  readonly cpuPeriodMicros?: number | undefined;
  readonly cpuQuotaMicros?: number | undefined;
  readonly memoryLimitBytes?: number | undefined;
  readonly memorySwapLimitBytes?: number | undefined;
  readonly memoryReservationBytes?: number | undefined;
}

/** What a container uses. */
export interface ContainerStats {
  readonly name: string;
  readonly startTime: string;
  readonly cpu?: CpuStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
  readonly io?: IoStats | undefined;
  readonly rootfs?: FsStats | undefined;
  readonly logs?: FsStats | undefined;
  /** Shown by `/metrics/cadvisor` alone. */
  readonly cgroup?: CgroupStats | undefined;
}

/** What a volume of a pod uses. */
export interface VolumeStats extends FsStats {
  readonly name: string;
  readonly pvcRef?: { readonly name: string; readonly namespace: string } | undefined;
}

/** What a pod uses. */
export interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly startTime: string;
  readonly containers: readonly ContainerStats[];
  /** Default: the containers' sum, with those that have ended. */
  readonly cpu?: CpuStats | undefined;
  /** Default: the containers' sum. */
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
  readonly io?: IoStats | undefined;
  readonly network?: NetworkStats | undefined;
  readonly volume?: readonly VolumeStats[] | undefined;
  readonly "ephemeral-storage"?: FsStats | undefined;
  readonly process_stats?: { readonly process_count?: number | undefined } | undefined;
  /** Shown by `/metrics/cadvisor` alone. */
  readonly cgroup?: CgroupStats | undefined;
}

/** What the node's machine is. */
export interface MachineStats {
  /** When it was looked at, RFC 3339. */
  readonly time: string;
  /** `/etc/machine-id`, the firmware's UUID and the kernel's id of this boot; empty where there is none. */
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  /** Such as `Debian GNU/Linux 12 (bookworm)`. */
  readonly osVersion: string;
  /** Logical cores. */
  readonly cores?: number | undefined;
  readonly physicalCores?: number | undefined;
  readonly sockets?: number | undefined;
  readonly memoryBytes?: number | undefined;
  readonly swapBytes?: number | undefined;
}

/** What the node uses. */
export interface NodeStats {
  readonly nodeName: string;
  readonly startTime: string;
  readonly cpu?: CpuStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
  readonly io?: IoStats | undefined;
  readonly network?: NetworkStats | undefined;
  readonly fs?: FsStats | undefined;
  readonly runtime?: { readonly imageFs?: FsStats | undefined; readonly containerFs?: FsStats | undefined } | undefined;
  /** Processes on the node: at most, and now. */
  readonly rlimit?: { readonly time: string; readonly maxpid?: number | undefined; readonly curproc?: number | undefined } | undefined;
  /** Named `kubelet`, `runtime`, `misc` and `pods`. */
  readonly systemContainers?: readonly ContainerStats[] | undefined;
  /** Shown by `/metrics/cadvisor` alone, as is the control group. */
  readonly machine?: MachineStats | undefined;
  readonly cgroup?: CgroupStats | undefined;
}

/**
 * What the pods of a node use, and the node, in the words of a kubelet's `/stats/summary`. Times are RFC 3339. What is
 * not known is left out; a zero is a measured zero.
 *
 * Source: kubernetes v1.36.3 k8s.io/kubelet/pkg/apis/stats/v1alpha1.
 */
export interface StatsSummary {
  /** Default: the pods' sum, since the node began. */
  readonly node?: NodeStats | undefined;
  readonly pods: readonly PodStats[];
  /**
   * Why figures are missing, or older than asked for: what took too long or failed. `undefined` when all was measured.
   * `/metrics/resource` then shows `resource_scrape_error 1`, and `/metrics/cadvisor` `container_scrape_error 1`.
   */
  readonly incomplete?: string | undefined;
}

/** One figure of a {@link MetricFamily}. */
export interface MetricSample {
  /** Follows the family's name; of histograms alone. */
  readonly suffix?: "_bucket" | "_sum" | "_count" | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly value: number;
  /** When it was measured, in milliseconds since 1970. */
  readonly timestampMs?: number | undefined;
}

/** Figures of one name, as Prometheus shows them. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "untyped";
  /** Those of a histogram are its buckets, each with those below it, then its sum and its count, for each set of labels. */
  readonly samples: readonly MetricSample[];
}

/** A provider that measures its pods. `/metrics/resource` is made from the summary unless it says otherwise. */
export interface PodMetricsProvider {
  /** Called for each scrape; a provider whose back end is slow keeps what it has measured last. */
  getStatsSummary(signal: AbortSignal): Promise<StatsSummary>;
  /** Figures for `/metrics/resource`, in place of those made from {@link getStatsSummary}. */
  getMetricsResource?(signal: AbortSignal): Promise<readonly MetricFamily[]>;
  /** Figures for `/metrics/probes`: how the probes that the provider makes have gone. */
  getMetricsProbes?(signal: AbortSignal): Promise<readonly MetricFamily[]>;
}
