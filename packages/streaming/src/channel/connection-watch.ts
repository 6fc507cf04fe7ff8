import type { Clock } from "@virtual-kubelet/clock";

/** How a connection is watched. */
export interface ConnectionWatchOptions {
  readonly clock: Clock;
  /** Time between looks. */
  readonly everyMs: number;
  /** How long nothing at all may be carried. */
  readonly idleMs: number;
  /** How long nothing may be heard while it is read; default: as long as it likes. */
  readonly silenceMs?: number | undefined;
  /** Whether reading is held. */
  isHeld(): boolean;
  /** Asks the other side for a sign of life. A socket that is not read tells of its peer's death only when it is written to. */
  ping(): void;
  /** Whether to ping at every look, and not only while reading is held. */
  readonly alwaysPing: boolean;
  /** The connection is to be given up; the text says why. */
  onExpired(why: string): void;
}

/** Looks after a connection that says nothing: pings it, and gives it up when it is idle or silent for too long. */
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

  /** Something was received. */
  heard(): void {
    this.#heardAt = this.#carriedAt = this.#options.clock.monotonic();
  }

  /** Something was sent that is no ping. */
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
