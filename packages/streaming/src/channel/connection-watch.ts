import type { Clock } from "@virtual-kubelet/clock";

export interface ConnectionWatchOptions {
  readonly clock: Clock;
  /** Interval between checks. */
  readonly everyMs: number;
  /** Maximum time without any data. */
  readonly idleMs: number;
  /** Maximum time without receiving anything while the socket is read. Default: no limit. */
  readonly silenceMs?: number | undefined;
  /** Whether reading is paused. */
  isHeld(): boolean;
  /** Sends a ping. A socket that is not read notices a dead peer only when writing to it. */
  ping(): void;
  /** Ping at every check, and not only while reading is paused. */
  readonly alwaysPing: boolean;
  /** Called once when the connection should be closed, with the reason. */
  onExpired(why: string): void;
}

/** Monitors a quiet connection: pings it, and expires it when it has been idle or silent for too long. */
export class ConnectionWatch implements Disposable {
  readonly #options: ConnectionWatchOptions;
  #timer: Disposable;
  #carriedAt: number;
  #heardAt: number;

  constructor(options: ConnectionWatchOptions) {
    this.#options = options;
    this.#carriedAt = this.#heardAt = options.clock.monotonic();
    this.#timer = this.#arm();
  }

  /** Call when something was received. */
  heard(): void {
    this.#heardAt = this.#carriedAt = this.#options.clock.monotonic();
  }

  /** Call when something other than a ping was sent. */
  sent(): void {
    this.#carriedAt = this.#options.clock.monotonic();
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #arm(): Disposable {
    const { clock, everyMs } = this.#options;
    return clock.setTimer(everyMs, () => this.#look());
  }

  #look(): void {
    const { clock, idleMs, silenceMs, alwaysPing } = this.#options;
    const now = clock.monotonic();
    const held = this.#options.isHeld();
    if (held) this.#heardAt = now;
    if (now - this.#carriedAt >= idleMs) return this.#options.onExpired(`it carried nothing for ${idleMs} ms`);
    if (silenceMs !== undefined && now - this.#heardAt >= silenceMs)
      return this.#options.onExpired(`nothing was heard on it for ${silenceMs} ms`);
    if (alwaysPing || held) this.#options.ping();
    this.#timer = this.#arm();
  }
}
