import { DeadlineExceededError } from "@virtual-kubelet/errdefs";
import type { Clock } from "./clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
}

/** For how long {@link VirtualClock.runUntil} lets time pass, unless told otherwise. */
const hourMs = 3_600_000;

/**
 * Time that passes only when told to, for a server and for the software under test: half an hour passes in
 * milliseconds, and each run goes the same way.
 *
 * Timers fire in the order of their due times, those of one instant in the order they were set; after each, everything
 * that needs no time happens. What goes over sockets takes real time, which this clock does not wait for: let such
 * clients get an answer before you go on, or give them the server's `transport()`.
 */
export class VirtualClock implements Clock {
  readonly #startMs: number;
  readonly #timers = new Set<Timer>();
  #elapsedMs = 0;
  #order = 0;

  /** @param startMs - where time begins, in milliseconds since the epoch; default: 2026-01-01T00:00:00Z */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#startMs = startMs;
  }

  /** How many timers and sleeps wait. A server's controllers always have some. */
  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
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
    const timer: Timer = { dueMs: this.#elapsedMs + Math.max(0, ms), order: this.#order++, fire: callback };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }

  /** Lets so many milliseconds pass, with everything that falls due in them. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    await turn();
    while (await this.#fireNext(untilMs));
    this.#elapsedMs = untilMs;
  }

  /** Lets everything happen that needs no time. */
  settle(): Promise<void> {
    return this.advance(0);
  }

  /**
   * Lets time pass, from one timer to the next, until the condition holds.
   *
   * @param options - `withinMs`: how long that may take on this clock; default: an hour
   * @returns how many milliseconds passed
   * @throws DeadlineExceededError if it does not hold by then
   */
  async runUntil(isTrue: () => boolean | Promise<boolean>, { withinMs = hourMs }: { readonly withinMs?: number } = {}): Promise<number> {
    const beganMs = this.#elapsedMs;
    await turn();
    while (!(await isTrue())) {
      if (await this.#fireNext(beganMs + withinMs)) continue;
      this.#elapsedMs = beganMs + withinMs;
      if (await isTrue()) break;
      throw new DeadlineExceededError(`run until a condition holds: it did not within ${withinMs} ms of virtual time`);
    }
    return this.#elapsedMs - beganMs;
  }

  /** Moves on to the next timer that is due by then. @returns whether there was one */
  async #fireNext(untilMs: number): Promise<boolean> {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      const isSooner = next === undefined || timer.dueMs < next.dueMs || (timer.dueMs === next.dueMs && timer.order < next.order);
      if (timer.dueMs <= untilMs && isSooner) next = timer;
    }
    if (next === undefined) return false;
    this.#timers.delete(next);
    this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
    next.fire();
    await turn();
    return true;
  }
}

/** A turn of the event loop, which comes after everything that promises alone can do. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
