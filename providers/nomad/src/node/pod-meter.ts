import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerStats, PodStats, StatsSummary } from "@virtual-kubelet/core";
import { ownValue } from "@virtual-kubelet/kubernetes";
import type { NomadClient } from "../api/nomad-client.ts";
import type { AllocationStats, ResourceUsage } from "../api/types.ts";
import type { PodEntry } from "../pods/pod-entry.ts";

export interface PodMeterOptions {
  readonly client: NomadClient;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly mhzPerCore: () => number;
}

/** Maximum allocations measured at once; Nomad has no call for all. */
const atOnce = 8;

interface CpuMeter {
  readonly coreNanoSeconds: number;
  readonly atMs: number;
  readonly nanoCores: number;
}

/** Measures pods. Nomad reports only current usage, so processor time is summed here from one measurement to the next. */
export class PodMeter {
  readonly #options: PodMeterOptions;
  readonly #startTime: string;
  readonly #meters = new Map<string, CpuMeter>();
  /** Processor time of pods that are gone. */
  #spentNanoSeconds = 0;

  constructor(options: PodMeterOptions) {
    this.#options = options;
    this.#startTime = new Date(options.clock.now()).toISOString();
  }

  async summary(entries: readonly PodEntry[], signal: AbortSignal): Promise<StatsSummary> {
    const running = entries.filter(({ allocation }) => allocation?.ClientStatus === "running");
    const pods: PodStats[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      for (let entry = running[next++]; entry; entry = running[next++]) {
        const stats = await this.#read(entry, signal);
        if (stats) pods.push(stats);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    this.#forgetOthers(running);
    return { node: this.#node(pods), pods };
  }

  async #read({ allocation, shape, createdAt }: PodEntry, signal: AbortSignal): Promise<PodStats | undefined> {
    if (!allocation) return undefined;
    let stats: AllocationStats;
    try {
      stats = await this.#options.client.stats(allocation.ID, signal);
    } catch {
      // The pod has ended meanwhile, or its client is away.
      signal.throwIfAborted();
      return undefined;
    }
    const containers = Object.entries(allocation.TaskStates ?? {}).flatMap(([name, { State, StartedAt }]) => {
      if (State !== "running" || !StartedAt) return [];
      const usage = ownValue(stats.Tasks ?? undefined, name)?.ResourceUsage;
      // The client measures every second, so a new task has no figures yet.
      return [usage ? this.#container(`${allocation.ID}/${name}`, name, usage, StartedAt) : { name, startTime: StartedAt }];
    });
    if (containers.length === 0) return undefined;
    const { namespace, name, uid } = shape.ref;
    return { podRef: { namespace, name, uid }, startTime: createdAt ?? this.#startTime, containers };
  }

  #container(key: string, name: string, { CpuStats, MemoryStats }: ResourceUsage, startTime: string): ContainerStats {
    const { clock, mhzPerCore } = this.#options;
    const time = new Date(clock.now()).toISOString();
    const atMs = clock.monotonic();
    const nanoCores = Math.max(0, Math.round(((CpuStats?.TotalTicks ?? 0) / mhzPerCore()) * 1e9));
    const before = this.#meters.get(key);
    const spent = before ? before.coreNanoSeconds + ((before.nanoCores + nanoCores) / 2) * ((atMs - before.atMs) / 1000) : 0;
    const coreNanoSeconds = Math.round(spent);
    this.#meters.set(key, { coreNanoSeconds, atMs, nanoCores });
    const { RSS = 0, Cache = 0, Usage = 0, Measured } = MemoryStats ?? {};
    const usageBytes = Measured?.includes("Usage") && Usage > 0 ? Usage : RSS + Cache;
    return {
      name,
      startTime,
      cpu: { time, usageNanoCores: nanoCores, usageCoreNanoSeconds: coreNanoSeconds },
      memory: { time, usageBytes, workingSetBytes: Math.max(RSS, usageBytes - Cache), rssBytes: RSS },
    };
  }

  #forgetOthers(running: readonly PodEntry[]): void {
    const ids = new Set(running.map(({ allocation }) => allocation?.ID));
    for (const [key, { coreNanoSeconds }] of this.#meters) {
      if (ids.has(key.slice(0, key.indexOf("/")))) continue;
      this.#spentNanoSeconds += coreNanoSeconds;
      this.#meters.delete(key);
    }
  }

  #node(pods: readonly PodStats[]): NonNullable<StatsSummary["node"]> {
    const time = new Date(this.#options.clock.now()).toISOString();
    const containers = pods.flatMap((pod) => pod.containers);
    const sum = (of: (container: ContainerStats) => number | undefined): number =>
      containers.reduce((total, each) => total + (of(each) ?? 0), 0);
    const metered = [...this.#meters.values()].reduce((total, { coreNanoSeconds }) => total + coreNanoSeconds, 0);
    return {
      nodeName: this.#options.nodeName,
      startTime: this.#startTime,
      cpu: { time, usageNanoCores: sum(({ cpu }) => cpu?.usageNanoCores), usageCoreNanoSeconds: this.#spentNanoSeconds + metered },
      memory: {
        time,
        usageBytes: sum(({ memory }) => memory?.usageBytes),
        workingSetBytes: sum(({ memory }) => memory?.workingSetBytes),
        rssBytes: sum(({ memory }) => memory?.rssBytes),
      },
    };
  }
}
