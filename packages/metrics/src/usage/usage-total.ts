import type { CpuStats, MemoryStats, PodStats, SwapStats } from "@virtual-kubelet/core";

export interface Usage {
  readonly cpu?: CpuStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
}

/** Sum of several usages, with the time of the latest measurement. Fields that nobody measured are left out. */
export function totalUsage(parts: readonly Usage[]): Usage {
  const cpu = parts.flatMap((part) => part.cpu ?? []);
  const memory = parts.flatMap((part) => part.memory ?? []);
  const swap = parts.flatMap((part) => part.swap ?? []);
  return {
    ...(cpu.length > 0 && {
      cpu: {
        time: latest(cpu),
        usageNanoCores: sum(cpu, "usageNanoCores"),
        usageCoreNanoSeconds: sum(cpu, "usageCoreNanoSeconds"),
      },
    }),
    ...(memory.length > 0 && {
      memory: {
        time: latest(memory),
        usageBytes: sum(memory, "usageBytes"),
        workingSetBytes: sum(memory, "workingSetBytes"),
        rssBytes: sum(memory, "rssBytes"),
        pageFaults: sum(memory, "pageFaults"),
        majorPageFaults: sum(memory, "majorPageFaults"),
      },
    }),
    ...(swap.length > 0 && { swap: { time: latest(swap), swapUsageBytes: sum(swap, "swapUsageBytes") } }),
  };
}

/** Usage of a pod: its own stats, or else the sum of its containers. */
export function podUsage(pod: PodStats): Usage {
  const total = totalUsage(pod.containers);
  return { cpu: pod.cpu ?? total.cpu, memory: pod.memory ?? total.memory, swap: pod.swap ?? total.swap };
}

function sum<T extends object>(parts: readonly T[], key: keyof T): number | undefined {
  const values = parts.map((part) => part[key]).filter((value) => typeof value === "number");
  return values.length > 0 ? values.reduce((total, value) => total + value, 0) : undefined;
}

function latest(parts: readonly { readonly time: string }[]): string {
  return parts.reduce((last, { time }) => (Date.parse(time) > Date.parse(last) ? time : last), parts[0]?.time ?? "");
}
