import type { Clock } from "./clock.ts";
import { DelayHeap, type Delayed } from "./delay-heap.ts";

interface SharedTimer extends Delayed, Disposable {
  readonly callback: () => void;
}

/**
 * Timers that share one timer of a clock, so that setting and cancelling many of them is cheap: for deadlines, which are seldom reached. Without
 * any, the clock has none of them either.
 */
export class SharedTimers implements Pick<Clock, "setTimer"> {
  readonly #clock: Pick<Clock, "monotonic" | "setTimer">;
  readonly #pending = new DelayHeap<SharedTimer>();
  #armed: { readonly dueMs: number; readonly timer: Disposable } | undefined;
  #order = 0;

  constructor(clock: Pick<Clock, "monotonic" | "setTimer">) {
    this.#clock = clock;
  }

  /** As {@link Clock.setTimer}. */
  setTimer(ms: number, callback: () => void): Disposable {
    const timer: SharedTimer = {
      dueMs: this.#clock.monotonic() + ms,
      order: this.#order++,
      heapIndex: -1,
      callback,
      [Symbol.dispose]: () => this.#cancel(timer),
    };
    this.#pending.set(timer);
    this.#arm();
    return timer;
  }

  #cancel(timer: SharedTimer): void {
    this.#pending.delete(timer);
    if (this.#pending.size === 0) this.#disarm();
  }

  /** Sets the clock's timer for what is due first. It is not set anew for what was cancelled, and may thus fire for nothing. */
  #arm(): void {
    const first = this.#pending.peek();
    if (!first || (this.#armed && this.#armed.dueMs <= first.dueMs)) return;
    this.#disarm();
    const { dueMs } = first;
    const timer = this.#clock.setTimer(Math.max(0, dueMs - this.#clock.monotonic()), () => {
      this.#armed = undefined;
      try {
        this.#fire();
      } finally {
        // One that throws does not stop the others.
        this.#arm();
      }
    });
    this.#armed = { dueMs, timer };
  }

  #disarm(): void {
    this.#armed?.timer[Symbol.dispose]();
    this.#armed = undefined;
  }

  #fire(): void {
    const nowMs = this.#clock.monotonic();
    for (let first = this.#pending.peek(); first && first.dueMs <= nowMs; first = this.#pending.peek()) {
      this.#pending.delete(first);
      first.callback();
    }
  }
}
