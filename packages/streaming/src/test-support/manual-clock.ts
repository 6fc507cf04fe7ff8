import type { Clock } from "../clock.ts";

/** A clock that stands still until it is moved. */
export class ManualClock implements Clock {
  #now = 0;
  #nextTimer = 0;
  readonly #timers = new Map<number, { readonly due: number; readonly callback: () => void }>();

  monotonic(): number {
    return this.#now;
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
