import type { MemoryStats, NetworkStats } from "@virtual-kubelet/core";
import { z } from "zod";

/** What a container uses, as the engine counts it. */
export interface EngineStats {
  /** When it was measured, RFC 3339. */
  readonly time: string;
  /** Core-nanoseconds since it began. */
  readonly cpuNanoSeconds: number;
  readonly memory: Omit<MemoryStats, "time">;
  /** Traffic by interface; empty on the host's network. Containers of a pod all have the sandbox's. */
  readonly interfaces: NonNullable<NetworkStats["interfaces"]>;
  readonly processes: number | undefined;
}

const count = z.number().nonnegative().catch(0);

const schema = z.object({
  read: z.string(),
  cpu_stats: z.object({ cpu_usage: z.object({ total_usage: z.number() }) }),
  memory_stats: z
    .object({
      usage: z.number().optional(),
      limit: z.number().optional(),
      stats: z.record(z.string(), z.number()).nullish(),
    })
    .nullish(),
  networks: z.record(z.string(), z.object({ rx_bytes: count, rx_errors: count, tx_bytes: count, tx_errors: count })).nullish(),
  pids_stats: z.object({ current: z.number().optional() }).nullish(),
});

/**
 * Reads an answer of `/containers/ID/stats`; `undefined` for a container that does not run, of which the engine gives
 * zeros. Figures of memory have other names in version 1 and 2 of control groups.
 *
 * Source: cadvisor v0.56 `setMemoryStats`: the working set is what is used less the inactive file cache.
 *
 * @param options - `hostMemoryBytes`: a limit of that much or more is none
 */
export function tryParseStats(answer: unknown, { hostMemoryBytes }: { readonly hostMemoryBytes: number }): EngineStats | undefined {
  const { read, cpu_stats: cpu, memory_stats: memory, networks, pids_stats: pids } = schema.parse(answer);
  if (read.startsWith("0001-")) return undefined;
  const { usage, limit, stats } = memory ?? {};
  if (usage === undefined) return undefined;
  const figure = (v1: string, v2: string): number | undefined => stats?.[v1] ?? stats?.[v2];
  const workingSetBytes = Math.max(0, usage - (figure("total_inactive_file", "inactive_file") ?? 0));
  const isLimited = limit !== undefined && limit > 0 && !(limit >= hostMemoryBytes && hostMemoryBytes > 0);
  return {
    time: read,
    cpuNanoSeconds: cpu.cpu_usage.total_usage,
    memory: {
      usageBytes: usage,
      workingSetBytes,
      availableBytes: isLimited ? Math.max(0, limit - workingSetBytes) : undefined,
      rssBytes: figure("total_rss", "anon"),
      pageFaults: figure("total_pgfault", "pgfault"),
      majorPageFaults: figure("total_pgmajfault", "pgmajfault"),
    },
    interfaces: Object.entries(networks ?? {}).map(([name, { rx_bytes, rx_errors, tx_bytes, tx_errors }]) => ({
      name,
      rxBytes: rx_bytes,
      rxErrors: rx_errors,
      txBytes: tx_bytes,
      txErrors: tx_errors,
    })),
    processes: pids?.current,
  };
}

/** Traffic of a pod: that of its first interface, and of all. `undefined` where it has none of its own. */
export function networkStatsOf({ time, interfaces }: EngineStats): NetworkStats | undefined {
  const main = interfaces.find(({ name }) => name === "eth0") ?? interfaces[0];
  return main && { time, ...main, interfaces };
}
