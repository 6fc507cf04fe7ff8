import { DeadlineExceededError } from "@virtual-kubelet/errdefs";
import { sleepOn, type Clock } from "./clock.ts";
import { DelayHeap, type Delayed } from "./delay-heap.ts";

interface Timer extends Delayed {
  readonly fire: () => void;
}

/** For how long {@link VirtualClock.runUntil} lets time pass, unless told otherwise. */
const hourMs = 3_600_000;

/** Options of a {@link VirtualClock}. */
export interface VirtualClockOptions {
  /**
   * Resolves when everything that needs no time has happened; it is awaited after each timer. Default: a turn of the event
   * loop, which comes after everything that promises alone can do.
   */
  readonly settled?: () => Promise<void>;
}

/**
 * Time that passes only when told to, for software under test and for the server it talks to: half an hour passes in
 * milliseconds, and each run goes the same way.
 *
 * Timers fire in the order of their due times, those of one instant in the order they were set; after each, everything
 * that needs no time happens. What goes over sockets takes real time, which this clock does not wait for: let such
 * clients get an answer before you go on, or use a transport without sockets.
 */
export class VirtualClock implements Clock {
  readonly #startMs: number;
  readonly #settled: () => Promise<void>;
  readonly #timers = new DelayHeap<Timer>();
  #elapsedMs = 0;
  #jumpMs = 0;
  #order = 0;

  /** @param startMs - wall-clock time at the start, in milliseconds since the epoch; default: 2026-01-01T00:00:00Z */
  constructor(startMs: number = Date.UTC(2026, 0, 1), { settled = turn }: VirtualClockOptions = {}) {
    this.#startMs = startMs;
    this.#settled = settled;
  }

  /** Number of pending timers and sleeps. A server's controllers always have some. */
  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#startMs + this.#elapsedMs + this.#jumpMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  /** Moves the wall clock only, as a time server may. */
  jump(ms: number): void {
    this.#jumpMs += ms;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  setTimer(ms: number, callback: () => void): Disposable {
    const timer: Timer = { dueMs: this.#elapsedMs + Math.max(0, ms), order: this.#order++, heapIndex: -1, fire: callback };
    this.#timers.set(timer);
    return { [Symbol.dispose]: () => this.#timers.delete(timer) };
  }

  /** Lets `ms` milliseconds pass and fires the timers that fall due; resolves when everything they started has settled. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    await this.#settled();
    while (this.#fireNext(untilMs)) await this.#settled();
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
    await this.#settled();
    while (!(await isTrue())) {
      if (this.#fireNext(beganMs + withinMs)) {
        await this.#settled();
        continue;
      }
      this.#elapsedMs = beganMs + withinMs;
      if (await isTrue()) break;
      throw new DeadlineExceededError(`run until a condition holds: it did not within ${withinMs} ms of virtual time`);
    }
    return this.#elapsedMs - beganMs;
  }

  /** Moves on to the next timer that is due by then. @returns whether there was one */
  #fireNext(untilMs: number): boolean {
    const next = this.#timers.peek();
    if (next === undefined || next.dueMs > untilMs) return false;
    this.#timers.delete(next);
    this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
    next.fire();
    return true;
  }
}

/** A turn of the event loop: a macrotask comes after all microtasks. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
