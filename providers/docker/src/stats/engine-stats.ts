import type { MemoryStats, NetworkStats } from "@virtual-kubelet/core";
import { z } from "zod";

/** A container's usage according to the engine. */
export interface EngineStats {
  /** Time of the measurement, RFC 3339. */
  readonly time: string;
  /** Core-nanoseconds since its start. */
  readonly cpuNanoSeconds: number;
  readonly memory: Omit<MemoryStats, "time">;
  /** Traffic by interface; empty on the host's network. All containers of a pod have the sandbox's. */
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
 * Parses an answer of `/containers/ID/stats`; `undefined` for a container that does not run, for which the engine returns zeros. Memory
 * fields differ between cgroup versions 1 and 2.
 *
 * Source: cadvisor v0.56 `setMemoryStats`: the working set is the used memory without the inactive file cache.
 *
 * @param options - `hostMemoryBytes`: a limit of at least that is no limit
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

/** Traffic of a pod: its first interface, and all interfaces. `undefined` if it has no network of its own. */
export function networkStatsOf({ time, interfaces }: EngineStats): NetworkStats | undefined {
  const main = interfaces.find(({ name }) => name === "eth0") ?? interfaces[0];
  return main && { time, ...main, interfaces };
}
