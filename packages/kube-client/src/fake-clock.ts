import type { Clock, Random } from "./clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly sequence: number;
  readonly fire: () => void;
}

/**
 * A clock that stands still until it is told to move. Timers fire in order of their due time, those of one instant in
 * the order they were set; after each one everything that can go on without time does.
 */
export class FakeClock implements Clock {
  readonly #startMs: number;
  readonly #timers = new Set<Timer>();
  #elapsedMs = 0;
  #jumpMs = 0;
  #sequence = 0;

  /** @param startMs - wall-clock time at the start, in milliseconds since the epoch; default 2026-01-01T00:00:00Z */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#startMs = startMs;
  }

  /** How many timers and sleeps are pending. */
  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#startMs + this.#elapsedMs + this.#jumpMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  /** Moves the wall clock, and only it, as a time server may. */
  jump(ms: number): void {
    this.#jumpMs += ms;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        timer[Symbol.dispose]();
        reject(signal?.reason);
      };
      const timer = this.setTimer(ms, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  setTimer(ms: number, callback: () => void): Disposable {
    const timer: Timer = { dueMs: this.#elapsedMs + Math.max(0, ms), sequence: this.#sequence++, fire: callback };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }

  /** Lets `ms` milliseconds pass and fires what falls due on the way; resolves when all it set off has settled. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    await settle();
    for (let next = this.#nextUntil(untilMs); next; next = this.#nextUntil(untilMs)) {
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      this.#timers.delete(next);
      next.fire();
      await settle();
    }
    this.#elapsedMs = untilMs;
  }

  #nextUntil(untilMs: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs > untilMs) continue;
      if (!first || timer.dueMs < first.dueMs || (timer.dueMs === first.dueMs && timer.sequence < first.sequence)) first = timer;
    }
    return first;
  }
}

/** Resolves when no promise in the process can go on by itself: a macrotask comes after all microtasks. */
async function settle(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Random numbers that repeat for the same seed (mulberry32). */
export class SeededRandom implements Random {
  #state: number;

  /** @param seed - any integer */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  uuid(): string {
    const digits = Array.from({ length: 32 }, () => Math.floor(this.next() * 16));
    digits[12] = 4;
    digits[16] = 8 + ((digits[16] ?? 0) % 4);
    const hex = digits.map((digit) => digit.toString(16)).join("");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  }
}
