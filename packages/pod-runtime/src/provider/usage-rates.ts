import type { CpuStats } from "@virtual-kubelet/core";

interface Sample {
  readonly atMs: number;
  readonly coreNanoSeconds: number;
  readonly nanoCores: number | undefined;
}

/** Least time between two measurements that a rate is made from, in milliseconds. */
const minApartMs = 1_000;

/** How much of the processor is used now, from what was used in all: each measurement is compared with the one before. */
export class UsageRates {
  #samples = new Map<string, Sample>();

  /** Adds the rate to a measurement that has none; without an earlier one there is none. @param atMs - monotonic */
  complete(key: string, cpu: CpuStats | undefined, atMs: number): CpuStats | undefined {
    const coreNanoSeconds = cpu?.usageCoreNanoSeconds;
    if (!cpu || coreNanoSeconds === undefined || cpu.usageNanoCores !== undefined) return cpu;
    const before = this.#samples.get(key);
    const apartMs = before ? atMs - before.atMs : 0;
    if (before && apartMs < minApartMs) return { ...cpu, usageNanoCores: before.nanoCores };
    // A counter that fell is another container's.
    const used = before ? coreNanoSeconds - before.coreNanoSeconds : -1;
    const nanoCores = used < 0 ? undefined : Math.round((used * 1000) / apartMs);
    this.#samples.set(key, { atMs, coreNanoSeconds, nanoCores });
    return { ...cpu, usageNanoCores: nanoCores };
  }

  /** Forgets all but these. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#samples.keys()) if (!keys.has(key)) this.#samples.delete(key);
  }
}
