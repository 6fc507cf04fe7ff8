import type { Clock } from "@virtual-kubelet/clock";
import type { RateLimiter } from "./rate-limiter.ts";

/** Priority of a request among those of its class: `urgent` ones come first, but every fifth turn is a `background` one's. */
export type CallPriority = "urgent" | "background";

/** Consecutive turns of urgent requests while a background one waits. */
const maxUrgentTurns = 4;

/** A request that waits for its turn. */
interface Waiting {
  readonly grant: () => void;
}

/** Requests of one class, which wait until all rates of the class allow one more. Equal priorities are served in order of arrival. */
export class CallQueue {
  readonly #clock: Clock;
  readonly #limiters: readonly RateLimiter[];
  readonly #waiting: Readonly<Record<CallPriority, Set<Waiting>>> = { urgent: new Set(), background: new Set() };
  #urgentTurns = 0;
  #pausedUntilMs = -Infinity;
  #timer: Disposable | undefined;

  constructor(clock: Clock, limiters: readonly RateLimiter[]) {
    this.#clock = clock;
    this.#limiters = limiters;
  }

  /** Number of requests that wait. */
  get waiting(): number {
    return this.#waiting.urgent.size + this.#waiting.background.size;
  }

  /** Milliseconds that are left of a pause; 0 if there is none. */
  get pausedMs(): number {
    return Math.max(0, this.#pausedUntilMs - this.#clock.monotonic());
  }

  /** Largest share of a published rate that is used; 0 to 1. */
  get usedRatio(): number {
    const nowMs = this.#clock.monotonic();
    return Math.max(0, ...this.#limiters.map((limiter) => limiter.usedRatio(nowMs)));
  }

  /** Resolves when the request may be sent; it is counted then. @throws `signal.reason` when aborted */
  async acquire(priority: CallPriority, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.waiting === 0 && this.#nextMs() <= this.#clock.monotonic()) return this.#take();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { grant: resolve };
    const queue = this.#waiting[priority];
    const onAbort = (): void => {
      if (!queue.delete(waiting)) return;
      if (this.waiting === 0) this.#stopTimer();
      reject(signal.reason);
    };
    queue.add(waiting);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#grant();
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    signal.throwIfAborted();
  }

  /** Sends nothing for some milliseconds, and then no burst. */
  pause(ms: number): void {
    const untilMs = this.#clock.monotonic() + ms;
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs);
    for (const limiter of this.#limiters) limiter.drain(untilMs);
  }

  /** Grants turns as long as all rates allow it, and sets the timer for the next one. */
  #grant(): void {
    this.#stopTimer();
    while (this.waiting > 0) {
      const nowMs = this.#clock.monotonic();
      const nextMs = this.#nextMs();
      if (nextMs > nowMs) {
        this.#timer = this.#clock.setTimer(Math.ceil(nextMs - nowMs), () => this.#grant());
        return;
      }
      this.#take();
      this.#shift();
    }
  }

  #shift(): void {
    const { urgent, background } = this.#waiting;
    const isBackgroundsTurn = urgent.size === 0 || (background.size > 0 && this.#urgentTurns >= maxUrgentTurns);
    const queue = isBackgroundsTurn ? background : urgent;
    this.#urgentTurns = isBackgroundsTurn || background.size === 0 ? 0 : this.#urgentTurns + 1;
    for (const waiting of queue) {
      queue.delete(waiting);
      waiting.grant();
      return;
    }
  }

  #nextMs(): number {
    return Math.max(this.#pausedUntilMs, ...this.#limiters.map((limiter) => limiter.nextMs()));
  }

  #take(): void {
    const nowMs = this.#clock.monotonic();
    for (const limiter of this.#limiters) limiter.take(nowMs);
  }

  #stopTimer(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }
}
