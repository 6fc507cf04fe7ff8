import type { Clock } from "@virtual-kubelet/kube-client";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  /** Absent once it fired or was cancelled. */
  fire: (() => void) | undefined;
}

/** Where simulated time begins: 2026-01-01T00:00:00Z. */
const startMs = Date.UTC(2026, 0, 1);

/**
 * Time that passes only when told to. Timers fire in the order of their due times; between two of them everything that
 * can go on by itself does. Unlike `FakeClock` it never waits for the event loop, so that an hour with thousands of
 * timers passes in a fraction of a second, the same way each time.
 */
export class SimulatedClock implements Clock {
  readonly #heap: Timer[] = [];
  #elapsedMs = 0;
  #order = 0;
  #pending = 0;

  /** Timers and sleeps that are neither fired nor cancelled. */
  get pending(): number {
    return this.#pending;
  }

  now(): number {
    return startMs + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  setTimer(ms: number, callback: () => void): Disposable {
    const timer: Timer = { dueMs: this.#elapsedMs + Math.max(0, ms), order: this.#order++, fire: callback };
    this.#push(timer);
    this.#pending++;
    return {
      [Symbol.dispose]: () => {
        if (timer.fire) this.#pending--;
        timer.fire = undefined;
      },
    };
  }

  /** Lets time pass, with all that falls due in it. */
  async run(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    await settle();
    for (let next = this.#heap[0]; next && next.dueMs <= untilMs; next = this.#heap[0]) {
      this.#pop();
      const { fire } = next;
      if (!fire) continue;
      next.fire = undefined;
      this.#pending--;
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      fire();
      await settle();
    }
    this.#elapsedMs = untilMs;
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.length;
    for (let above = parentOf(heap, index); index > 0 && above && isBefore(timer, above); above = parentOf(heap, index)) {
      heap[index] = above;
      index = (index - 1) >> 1;
    }
    heap[index] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const right = heap[child + 1];
      const left = heap[child];
      if (!left) break;
      const first = right && isBefore(right, left) ? right : left;
      if (first === right) child++;
      if (isBefore(last, first)) break;
      heap[index] = first;
      index = child;
    }
    heap[index] = last;
  }
}

/**
 * The clock of one run of the program. It may be off the cluster's, and dies with the program: what waits on it then
 * waits for ever, as in a process that was killed.
 */
export class ProcessClock implements Clock {
  readonly #clock: SimulatedClock;
  readonly #skewMs: number;
  readonly #timers = new Set<Disposable>();
  #isDead = false;

  /** @param skewMs - how far its wall clock is ahead of the cluster's */
  constructor(clock: SimulatedClock, skewMs: number) {
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

function sleepOn(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      timer[Symbol.dispose]();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

function parentOf(heap: readonly Timer[], index: number): Timer | undefined {
  return heap[(index - 1) >> 1];
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
