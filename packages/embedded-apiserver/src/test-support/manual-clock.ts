import type { Clock, Random } from "../clock.ts";

/** A clock that stands still until it is moved. */
export class ManualClock implements Clock {
  #now: number;
  #nextTimer = 0;
  readonly #timers = new Map<number, { readonly due: number; readonly callback: () => void }>();

  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.setTimer(ms, resolve);
      signal?.addEventListener("abort", () => {
        timer[Symbol.dispose]();
        reject(signal.reason as Error);
      });
    });
  }

  setTimer(ms: number, callback: () => void): Disposable {
    const id = this.#nextTimer++;
    this.#timers.set(id, { due: this.#now + ms, callback });
    return { [Symbol.dispose]: () => void this.#timers.delete(id) };
  }

  /** Number of timers that wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves the time on and runs what has become due, in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(([, { due }]) => due <= end).toSorted(([, a], [, b]) => a.due - b.due);
      if (next === undefined) break;
      const [id, { due, callback }] = next;
      this.#timers.delete(id);
      this.#now = Math.max(this.#now, due);
      callback();
    }
    this.#now = end;
  }
}

/** Random numbers that are the same in every run. */
export function seededRandom(): Random {
  let state = 1;
  const next = (): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const hex = (digits: number): string => Array.from({ length: digits }, () => Math.floor(next() * 16).toString(16)).join("");
  return { next, uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}` };
}
