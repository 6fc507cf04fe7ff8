import type { Clock } from "@virtual-kubelet/clock";

/** How long a peer may give no sign of life after our last words. */
const silenceMs = 60_000;

/**
 * Limits how long a peer may take to read our last words and to close. Destroying the socket earlier cuts off what is still
 * on its way, and a client that misses the result takes a cut output for the whole one: kubectl over SPDY exits with 0.
 */
export class Linger implements Disposable {
  readonly #clock: Clock;
  readonly #onExpired: () => void;
  readonly #atMost: Disposable;
  #silence: Disposable;

  /** @param atMostMs - limit for a peer that pings and reads nothing */
  constructor(clock: Clock, { atMostMs, onExpired }: { readonly atMostMs: number; onExpired(): void }) {
    this.#clock = clock;
    this.#onExpired = onExpired;
    this.#atMost = clock.setTimer(atMostMs, onExpired);
    this.#silence = this.#arm();
  }

  /** The peer gave a sign of life. */
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
