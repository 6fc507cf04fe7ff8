import type { Clock } from "@virtual-kubelet/clock";

/** How long a peer may be silent after the last data was sent. */
const silenceMs = 60_000;

/**
 * Limits how long a peer may take to read the last data and to close. If the socket were destroyed earlier, data in transit would be lost;
 * kubectl over SPDY takes truncated output without a result for complete and exits with 0.
 */
export class Linger implements Disposable {
  readonly #clock: Clock;
  readonly #onExpired: () => void;
  readonly #atMost: Disposable;
  #silence: Disposable;

  /** @param atMostMs - limit for a peer that answers pings but reads nothing */
  constructor(clock: Clock, { atMostMs, onExpired }: { readonly atMostMs: number; onExpired(): void }) {
    this.#clock = clock;
    this.#onExpired = onExpired;
    this.#atMost = clock.setTimer(atMostMs, onExpired);
    this.#silence = this.#arm();
  }

  /** Call when the peer has sent anything. */
  heard(): void {
    this.#silence[Symbol.dispose]();
    this.#silence = this.#arm();
  }

  [Symbol.dispose](): void {
    this.#silence[Symbol.dispose]();
    this.#atMost[Symbol.dispose]();
  }

  #arm(): Disposable {
    return this.#clock.setTimer(silenceMs, this.#onExpired);
  }
}
