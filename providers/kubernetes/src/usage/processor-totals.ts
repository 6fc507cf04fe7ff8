/** A container's processor time, summed from rates. */
interface Total {
  readonly timeMs: number;
  readonly coreNanoSeconds: number;
}

/**
 * Sums rates of processors to the processor time that counters show. The metrics API has rates only, while metrics-server and autoscalers of the
 * home cluster read counters. A total begins with the first rate that was seen, so that its increase is right and its value is not.
 */
export class ProcessorTotals {
  readonly #totals = new Map<string, Total>();

  /**
   * Adds a rate, unless one of that time or later was added before.
   *
   * @param key - of one run of a container
   * @param rate - measured over the `windowMs` milliseconds before `timeMs`
   * @returns core-nanoseconds
   */
  add(key: string, rate: { readonly timeMs: number; readonly windowMs: number; readonly nanoCores: number }): number {
    const before = this.#totals.get(key);
    if (before && rate.timeMs <= before.timeMs) return before.coreNanoSeconds;
    const elapsedMs = before ? rate.timeMs - before.timeMs : rate.windowMs;
    const coreNanoSeconds = (before?.coreNanoSeconds ?? 0) + Math.round((rate.nanoCores * elapsedMs) / 1000);
    this.#totals.set(key, { timeMs: rate.timeMs, coreNanoSeconds });
    return coreNanoSeconds;
  }

  /** Forgets all others. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#totals.keys()) if (!keys.has(key)) this.#totals.delete(key);
  }
}
