/** Use of the processor. */
export interface CpuStats {
  /** When it was measured, RFC 3339. */
  readonly time: string;
  /** Billionths of a core over the last seconds. */
  readonly usageNanoCores?: number | undefined;
  /** Core-nanoseconds since the container began; never falls. */
  readonly usageCoreNanoSeconds?: number | undefined;
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

/** What a container uses. */
export interface ContainerStats {
  readonly name: string;
  readonly startTime: string;
  readonly cpu?: CpuStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
  readonly rootfs?: FsStats | undefined;
  readonly logs?: FsStats | undefined;
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
  /** Default: the containers' sum. */
  readonly cpu?: CpuStats | undefined;
  /** Default: the containers' sum. */
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
  readonly network?: NetworkStats | undefined;
  readonly volume?: readonly VolumeStats[] | undefined;
  readonly "ephemeral-storage"?: FsStats | undefined;
  readonly process_stats?: { readonly process_count?: number | undefined } | undefined;
}

/** What the node uses. */
export interface NodeStats {
  readonly nodeName: string;
  readonly startTime: string;
  readonly cpu?: CpuStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
  readonly network?: NetworkStats | undefined;
  readonly fs?: FsStats | undefined;
  readonly runtime?: { readonly imageFs?: FsStats | undefined; readonly containerFs?: FsStats | undefined } | undefined;
  readonly systemContainers?: readonly ContainerStats[] | undefined;
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
}

/** One figure of a {@link MetricFamily}. */
export interface MetricSample {
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly value: number;
  /** When it was measured, in milliseconds since 1970. */
  readonly timestampMs?: number | undefined;
}

/** Figures of one name, as Prometheus shows them. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "untyped";
  readonly samples: readonly MetricSample[];
}

/** A provider that measures its pods. `/metrics/resource` is made from the summary unless it says otherwise. */
export interface PodMetricsProvider {
  /** Called for each scrape; a provider whose back end is slow keeps what it has measured last. */
  getStatsSummary(signal: AbortSignal): Promise<StatsSummary>;
  /** Figures for `/metrics/resource`, in place of those made from {@link getStatsSummary}. */
  getMetricsResource?(signal: AbortSignal): Promise<readonly MetricFamily[]>;
}
