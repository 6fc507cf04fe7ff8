import type { ContainerStats, PodStats, ProviderHost, StatsSummary } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { RemoteTarget } from "@virtual-kubelet/remote-pods";
import type { ZunObject } from "../status/zun-object.ts";
import type { ZunApi } from "../zun/zun-api.ts";
import { zunTime, type ZunStats } from "../zun/zun-objects.ts";
import { ProcessorTimes, type ProcessorTime } from "./processor-times.ts";

/** Containers that are measured at once: each waits a second or two for its host. */
const atOnce = 8;
/** A measurement is kept that long: scrapes of several readers come together. */
const keepMs = 5_000;
const mebibyte = 1024 * 1024;

export interface StatsReaderOptions {
  readonly api: Pick<ZunApi, "stats" | "execute">;
  readonly host: Pick<ProviderHost, "clock" | "logger" | "findPod">;
  /** Milliseconds between two readings of a container's processor time; 0: it is not read. */
  readonly cpuIntervalMs: number;
}

/** Measures pods that are containers; a capsule's members cannot be measured. */
export class StatsReader {
  readonly #options: StatsReaderOptions;
  #last: { readonly atMs: number; readonly summary: StatsSummary } | undefined;
  readonly #processorTimes: ProcessorTimes;

  constructor(options: StatsReaderOptions) {
    this.#options = options;
    this.#processorTimes = new ProcessorTimes({
      api: options.api,
      clock: options.host.clock,
      logger: options.host.logger,
      intervalMs: options.cpuIntervalMs,
    });
  }

  /** What the pods use. A pod that cannot be measured is left out. */
  async read(targets: readonly RemoteTarget<ZunObject>[], signal: AbortSignal): Promise<StatsSummary> {
    const { clock } = this.#options.host;
    const due = targets.flatMap(({ remote }) => (remote?.kind === "container" && remote.status === "Running" ? [remote] : []));
    const known = new Set(this.#last?.summary.pods.map(({ podRef }) => podRef.uid));
    const isFresh = this.#last !== undefined && clock.monotonic() - this.#last.atMs < keepMs;
    if (this.#last && isFresh && known.size === due.length && due.every(({ labels }) => known.has(labels.ref.uid)))
      return this.#last.summary;
    const pods: PodStats[] = [];
    for (let at = 0; at < due.length; at += atOnce) {
      const some = await Promise.all(due.slice(at, at + atOnce).map((observed) => this.#measure(observed, signal)));
      pods.push(...some.filter((stats) => stats !== undefined));
    }
    this.#processorTimes.keep(new Set(due.map(({ uuid }) => uuid)));
    const summary = { pods };
    this.#last = { atMs: clock.monotonic(), summary };
    return summary;
  }

  async #measure({ uuid, labels, createdAt }: ZunObject, signal: AbortSignal): Promise<PodStats | undefined> {
    const { api, host } = this.#options;
    const { clock, logger } = host;
    const [name = ""] = labels.containers;
    const told = host.findPod(labels.ref)?.status?.containerStatuses?.find((each) => each.name === name);
    const startTime = told?.state?.running?.startedAt ?? zunTime(createdAt);
    if (startTime === undefined) return undefined;
    try {
      const [stats, processorTime] = await Promise.all([api.stats(uuid, signal), this.#processorTimes.of(uuid, signal)]);
      const time = new Date(clock.now()).toISOString();
      return {
        podRef: labels.ref,
        startTime,
        containers: [toContainerStats({ name, startTime, time }, stats, processorTime)],
        network: networkOf(time, stats),
      };
    } catch (error) {
      signal.throwIfAborted();
      logger.debug({ err: messageOf(error), pod: `${labels.ref.namespace}/${labels.ref.name}` }, "a pod could not be measured");
      return undefined;
    }
  }
}

function toContainerStats(
  { name, startTime, time }: { readonly name: string; readonly startTime: string; readonly time: string },
  stats: ZunStats,
  processorTime: ProcessorTime | undefined,
): ContainerStats {
  const used = stats["MEM USAGE(MiB)"];
  const limit = stats["MEM LIMIT(MiB)"];
  // Zun takes the inactive file cache off, which leaves a kubelet's working set.
  const bytes = used === undefined ? undefined : Math.round(used * mebibyte);
  const available = bytes !== undefined && limit !== undefined ? Math.max(0, Math.round(limit * mebibyte) - bytes) : undefined;
  return {
    name,
    startTime,
    ...(processorTime && { cpu: { time: processorTime.time, usageCoreNanoSeconds: processorTime.coreNanoSeconds } }),
    memory: { time, workingSetBytes: bytes, availableBytes: available },
  };
}

function networkOf(time: string, stats: ZunStats): PodStats["network"] {
  const [, received, sent] = /^(\d+)\/(\d+)$/.exec(stats["NET I/O(B)"] ?? "") ?? [];
  return received === undefined || Number(received) + Number(sent) > Number.MAX_SAFE_INTEGER
    ? undefined
    : { time, name: "eth0", rxBytes: Number(received), txBytes: Number(sent) };
}
