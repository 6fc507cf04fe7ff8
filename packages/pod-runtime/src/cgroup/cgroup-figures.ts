import type { CgroupStats, ContainerStats, CpuStats, DiskIoStats, MemoryStats, PsiData, PsiStats, SwapStats } from "@virtual-kubelet/core";

/** Usage of a control group, in the fields of a summary. */
export type CgroupUsage = Pick<ContainerStats, "cpu" | "memory" | "swap" | "io"> & { readonly cgroup: CgroupStats };

interface CgroupReading {
  readonly path: string;
  /** RFC 3339. */
  readonly time: string;
  /** Content of one of its files, without the last line feed; `undefined` if there is none. */
  read(file: string): string | undefined;
  /** Path of a disk by its number, such as `8:0`. */
  device(number: string): string;
}

/** Reads the files of one control group, with the controller's folder before each name in version 1. */
export type FiguresOf = (reading: CgroupReading) => CgroupUsage;

/** Larger values of a limit mean no limit. Source: maxMemorySize in cadvisor v0.56.2 metrics/prometheus.go. */
const noLimit = 2 ** 62;

/** Unit of `cpuacct.stat`: user space always has 100 ticks in a second. */
const tickNanoSeconds = 10_000_000;

/**
 * Figures of a control group of version 1.
 *
 * Source: opencontainers/cgroups v0.0.6 fs, and setCPUStats, setMemoryStats of cadvisor v0.56.2 container/libcontainer.
 */
export const figuresOfV1: FiguresOf = (reading) => {
  const number = (file: string): number | undefined => numberOf(reading.read(file));
  const memory = valuesOf(reading.read("memory/memory.stat"));
  const cpu = valuesOf(reading.read("cpu/cpu.stat"));
  const ticks = valuesOf(reading.read("cpuacct/cpuacct.stat"));
  const limit = limitOf(number("memory/memory.limit_in_bytes"));
  const withSwap = limitOf(number("memory/memory.memsw.limit_in_bytes"));
  const quota = number("cpu/cpu.cfs_quota_us");
  return usageOf(reading, {
    cpuNanoSeconds: number("cpuacct/cpuacct.usage"),
    usageBytes: number("memory/memory.usage_in_bytes"),
    inactiveFileBytes: memory.get("total_inactive_file"),
    rssBytes: memory.get("total_rss"),
    pageFaults: memory.get("total_pgfault"),
    majorPageFaults: memory.get("total_pgmajfault"),
    swapBytes: memory.get("total_swap"),
    maxSwapBytes: limit !== undefined && withSwap !== undefined ? Math.max(0, withSwap - limit) : undefined,
    // Version 1 has no pressure. If version 2 is mounted beside it, the runtime's control groups are there, too.
    pressure: (resource) => reading.read(`unified/${resource}.pressure`),
    cgroup: {
      cpuUserNanoSeconds: times(ticks.get("user"), tickNanoSeconds),
      cpuSystemNanoSeconds: times(ticks.get("system"), tickNanoSeconds),
      cpuPeriods: cpu.get("nr_periods"),
      cpuThrottledPeriods: cpu.get("nr_throttled"),
      cpuThrottledNanoSeconds: cpu.get("throttled_time"),
      memoryCacheBytes: memory.get("total_cache"),
      memoryMappedFileBytes: memory.get("total_mapped_file"),
      memoryKernelBytes: number("memory/memory.kmem.usage_in_bytes"),
      memoryMaxUsageBytes: number("memory/memory.max_usage_in_bytes"),
      memoryActiveFileBytes: memory.get("total_active_file"),
      memoryInactiveFileBytes: memory.get("total_inactive_file"),
      memoryLimitHits: number("memory/memory.failcnt"),
      oomKills: valuesOf(reading.read("memory/memory.oom_control")).get("oom_kill"),
      processes: linesOf(reading.read("cpu/cgroup.procs")),
      threads: number("pids/pids.current"),
      maxThreads: number("pids/pids.max"),
      disks: disksOfV1(reading),
      cpuShares: number("cpu/cpu.shares"),
      cpuPeriodMicros: number("cpu/cpu.cfs_period_us"),
      cpuQuotaMicros: quota !== undefined && quota > 0 ? quota : undefined,
      memoryLimitBytes: limit,
      memorySwapLimitBytes: withSwap,
      memoryReservationBytes: limitOf(number("memory/memory.soft_limit_in_bytes")),
    },
  });
};

/**
 * Figures of a control group of version 2.
 *
 * Source: opencontainers/cgroups v0.0.6 fs2, and getSpecInternal of cadvisor v0.56.2 container/common.
 */
export const figuresOfV2: FiguresOf = (reading) => {
  const number = (file: string): number | undefined => numberOf(reading.read(file));
  const memory = valuesOf(reading.read("memory.stat"));
  const cpu = valuesOf(reading.read("cpu.stat"));
  const events = valuesOf(reading.read("memory.events"));
  const [quota, period] = reading.read("cpu.max")?.split(" ") ?? [];
  const weight = number("cpu.weight");
  const maxSwap = number("memory.swap.max");
  return usageOf(reading, {
    cpuNanoSeconds: times(cpu.get("usage_usec"), 1000),
    usageBytes: number("memory.current"),
    inactiveFileBytes: memory.get("inactive_file"),
    rssBytes: memory.get("anon"),
    pageFaults: memory.get("pgfault"),
    majorPageFaults: memory.get("pgmajfault"),
    swapBytes: number("memory.swap.current"),
    maxSwapBytes: maxSwap,
    pressure: (resource) => reading.read(`${resource}.pressure`),
    cgroup: {
      cpuUserNanoSeconds: times(cpu.get("user_usec"), 1000),
      cpuSystemNanoSeconds: times(cpu.get("system_usec"), 1000),
      cpuPeriods: cpu.get("nr_periods"),
      cpuThrottledPeriods: cpu.get("nr_throttled"),
      cpuThrottledNanoSeconds: times(cpu.get("throttled_usec"), 1000),
      memoryCacheBytes: memory.get("file"),
      memoryMappedFileBytes: memory.get("file_mapped"),
      memoryKernelBytes: memory.get("kernel"),
      memoryMaxUsageBytes: number("memory.peak"),
      memoryActiveFileBytes: memory.get("active_file"),
      memoryInactiveFileBytes: memory.get("inactive_file"),
      memoryLimitHits: events.get("max"),
      oomKills: events.get("oom_kill"),
      processes: linesOf(reading.read("cgroup.procs")),
      threads: number("pids.current"),
      maxThreads: number("pids.max"),
      disks: disksOfV2(reading),
      cpuShares: weight === undefined ? undefined : 2 + Math.floor(((weight - 1) * 262_142) / 9_999),
      cpuPeriodMicros: numberOf(period),
      cpuQuotaMicros: numberOf(quota),
      memoryLimitBytes: number("memory.max"),
      memorySwapLimitBytes: maxSwap,
      memoryReservationBytes: number("memory.min"),
    },
  });
};

/** Parses a pressure file of the kernel; `undefined` if there is none. */
export function psiOf(text: string | undefined): PsiStats | undefined {
  const line = (kind: string): PsiData | undefined => {
    const [, avg10, avg60, avg300, total] =
      new RegExp(`^${kind} avg10=(\\S+) avg60=(\\S+) avg300=(\\S+) total=(\\d+)$`, "m").exec(text ?? "") ?? [];
    return total === undefined ? undefined : { total: Number(total), avg10: Number(avg10), avg60: Number(avg60), avg300: Number(avg300) };
  };
  const some = line("some");
  // Kernels before 5.13 have no "full" for the processor.
  return some && { full: line("full") ?? { total: 0, avg10: 0, avg60: 0, avg300: 0 }, some };
}

/** Figures that both versions have, under different names. */
interface Counted {
  readonly cpuNanoSeconds: number | undefined;
  readonly usageBytes: number | undefined;
  readonly inactiveFileBytes: number | undefined;
  readonly rssBytes: number | undefined;
  readonly pageFaults: number | undefined;
  readonly majorPageFaults: number | undefined;
  readonly swapBytes: number | undefined;
  /** `undefined`: no limit. */
  readonly maxSwapBytes: number | undefined;
  pressure(resource: "cpu" | "memory" | "io"): string | undefined;
  readonly cgroup: Omit<CgroupStats, "time" | "path">;
}

/** As cadvisor's `setMemoryStats`: the working set is the used memory without the inactive file cache. */
function usageOf({ time, path }: CgroupReading, counted: Counted): CgroupUsage {
  const { usageBytes, swapBytes, maxSwapBytes, cgroup } = counted;
  const io = psiOf(counted.pressure("io"));
  const cpu: CpuStats | undefined =
    counted.cpuNanoSeconds === undefined
      ? undefined
      : { time, usageCoreNanoSeconds: counted.cpuNanoSeconds, ...withPsi(counted.pressure("cpu")) };
  const swap: SwapStats | undefined =
    swapBytes === undefined
      ? undefined
      : {
          time,
          ...(maxSwapBytes !== undefined && { swapAvailableBytes: Math.max(0, maxSwapBytes - swapBytes) }),
          swapUsageBytes: swapBytes,
        };
  return {
    ...(cpu && { cpu }),
    ...(usageBytes !== undefined && { memory: memoryOf(time, usageBytes, counted) }),
    ...(swap && { swap }),
    ...(io && { io: { time, psi: io } }),
    cgroup: { time, path, ...cgroup },
  };
}

function memoryOf(time: string, usageBytes: number, counted: Counted): MemoryStats {
  const workingSetBytes = Math.max(0, usageBytes - (counted.inactiveFileBytes ?? 0));
  const limit = counted.cgroup.memoryLimitBytes;
  return {
    time,
    ...(limit !== undefined && { availableBytes: Math.max(0, limit - workingSetBytes) }),
    usageBytes,
    workingSetBytes,
    rssBytes: counted.rssBytes,
    pageFaults: counted.pageFaults,
    majorPageFaults: counted.majorPageFaults,
    ...withPsi(counted.pressure("memory")),
  };
}

function withPsi(text: string | undefined): { readonly psi?: PsiStats } {
  const psi = psiOf(text);
  return psi ? { psi } : {};
}

/** Reads lines such as `8:0 Read 4096`, in two files. */
function disksOfV1(reading: CgroupReading): readonly DiskIoStats[] | undefined {
  const [bytes, operations] = ["io_service_bytes", "io_serviced"].map((file) => reading.read(`blkio/blkio.throttle.${file}_recursive`));
  if (bytes === undefined) return undefined;
  const find = (text: string | undefined, device: string, operation: string): number =>
    numberOf(new RegExp(`^${device} ${operation} (\\d+)$`, "m").exec(text ?? "")?.[1]) ?? 0;
  const numbers = new Set([...bytes.matchAll(/^(\d+:\d+) /gm)].map(([, device = ""]) => device));
  return [...numbers].map((device) => ({
    device: reading.device(device),
    readBytes: find(bytes, device, "Read"),
    writtenBytes: find(bytes, device, "Write"),
    reads: find(operations, device, "Read"),
    writes: find(operations, device, "Write"),
  }));
}

/** Reads lines such as `8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`. */
function disksOfV2(reading: CgroupReading): readonly DiskIoStats[] | undefined {
  const text = reading.read("io.stat");
  if (text === undefined) return undefined;
  return [...text.matchAll(/^(\d+:\d+) (.*)$/gm)].map(([, device = "", rest = ""]) => {
    const find = (key: string): number => numberOf(new RegExp(`(?:^| )${key}=(\\d+)`).exec(rest)?.[1]) ?? 0;
    return {
      device: reading.device(device),
      readBytes: find("rbytes"),
      writtenBytes: find("wbytes"),
      reads: find("rios"),
      writes: find("wios"),
    };
  });
}

/** Reads a file of lines such as `nr_periods 4`. */
function valuesOf(text: string | undefined): ReadonlyMap<string, number> {
  return new Map(
    text?.split("\n").flatMap((line): readonly [string, number][] => {
      const space = line.indexOf(" ");
      return space < 0 ? [] : [[line.slice(0, space), Number(line.slice(space + 1))]];
    }),
  );
}

/** `undefined` for `max`, and for a missing file. */
function numberOf(text: string | undefined): number | undefined {
  const value = text === undefined || text === "" ? NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}

function limitOf(value: number | undefined): number | undefined {
  return value === undefined || value > noLimit ? undefined : value;
}

function times(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}

function linesOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : text.split("\n").filter((line) => line !== "").length;
}
