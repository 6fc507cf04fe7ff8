import type { Clock } from "@virtual-kubelet/clock";

/** Shortest interval between writes of one Service: several changes of its endpoints become one write. */
const settleMs = 1_000;
/** Longest interval, if somebody else changes the objects back each time. */
const maxMs = 300_000;
/** Time without a repair after which the next one is no longer part of a quarrel. */
const peaceMs = 600_000;

interface Written {
  readonly atMs: number;
  /** What was written, as a whole. */
  readonly wanted: string;
  /** How often the same was written again. */
  readonly repairs: number;
}

/**
 * Delays between the writes of each Service. Two programs that want different things of one object would otherwise answer each other's writes as
 * fast as the API servers allow.
 */
export class WritePace {
  readonly #clock: Clock;
  readonly #written = new Map<string, Written>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Remembers a write.
   *
   * @param wanted - identifies what was written
   * @returns how often the same has now been written again, because somebody else had changed it
   */
  wrote(key: string, wanted: string): number {
    const atMs = this.#clock.monotonic();
    const last = this.#written.get(key);
    const repairs = last?.wanted === wanted && atMs - last.atMs < peaceMs ? last.repairs + 1 : 0;
    this.#written.set(key, { atMs, wanted, repairs });
    return repairs;
  }

  /** Milliseconds until the next write. */
  waitMs(key: string): number {
    const last = this.#written.get(key);
    if (!last) return 0;
    const pauseMs = Math.min(maxMs, settleMs * 2 ** last.repairs);
    return Math.max(0, last.atMs + pauseMs - this.#clock.monotonic());
  }

  forget(key: string): void {
    this.#written.delete(key);
  }
}
