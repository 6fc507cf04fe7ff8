import type { CpuStats } from "@virtual-kubelet/core";

interface Sample {
  readonly atMs: number;
  readonly coreNanoSeconds: number;
  readonly nanoCores: number | undefined;
}

/** Minimum time between two measurements for a rate, in milliseconds. */
const minApartMs = 1_000;

/** Computes current CPU usage from cumulative usage, by comparing each measurement with the one before. */
export class UsageRates {
  #samples = new Map<string, Sample>();

  /** Adds the rate to a measurement, if there is an earlier one. @param atMs - monotonic */
  complete(key: string, cpu: CpuStats | undefined, atMs: number): CpuStats | undefined {
    const coreNanoSeconds = cpu?.usageCoreNanoSeconds;
    if (!cpu || coreNanoSeconds === undefined || cpu.usageNanoCores !== undefined) return cpu;
    const before = this.#samples.get(key);
    const apartMs = before ? atMs - before.atMs : 0;
    if (before && apartMs < minApartMs) return { ...cpu, usageNanoCores: before.nanoCores };
    // A counter that has decreased belongs to another container.
    const used = before ? coreNanoSeconds - before.coreNanoSeconds : -1;
    const nanoCores = used < 0 ? undefined : Math.round((used * 1000) / apartMs);
    this.#samples.set(key, { atMs, coreNanoSeconds, nanoCores });
    return { ...cpu, usageNanoCores: nanoCores };
  }

  /** Forgets all other keys. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#samples.keys()) if (!keys.has(key)) this.#samples.delete(key);
  }
}
