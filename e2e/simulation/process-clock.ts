import { sleepOn, type Clock } from "@virtual-kubelet/clock";

/**
 * The clock of one run of the program. It may be off the cluster's, and dies with the program: what waits on it then
 * waits for ever, as in a process that was killed.
 */
export class ProcessClock implements Clock {
  readonly #clock: Clock;
  readonly #skewMs: number;
  readonly #timers = new Set<Disposable>();
  #isDead = false;

  /** @param skewMs - how far its wall clock is ahead of the cluster's */
  constructor(clock: Clock, skewMs: number) {
    this.#clock = clock;
    this.#skewMs = skewMs;
  }

  /** Timers and sleeps of the process that are pending. */
  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#clock.now() + this.#skewMs;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  setTimer(ms: number, callback: () => void): Disposable {
    if (this.#isDead) return { [Symbol.dispose]() {} };
    const timer = this.#clock.setTimer(ms, () => {
      this.#timers.delete(timer);
      callback();
    });
    this.#timers.add(timer);
    return {
      [Symbol.dispose]: () => {
        this.#timers.delete(timer);
        timer[Symbol.dispose]();
      },
    };
  }

  /** Ends it: none of its timers fires any more. */
  kill(): void {
    this.#isDead = true;
    for (const timer of this.#timers) timer[Symbol.dispose]();
    this.#timers.clear();
  }
}

/**
 * Resolves when no promise in the process can go on by itself. Node runs a tick that is asked for in a microtask only
 * after the last microtask; unlike a turn of the event loop that costs next to nothing.
 */
export function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
