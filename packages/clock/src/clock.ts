/** Time that is passed to everything that waits or reads the time, so that tests and simulations control it. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch; it may jump. For time stamps that others read. */
  now(): number;
  /** Milliseconds on a clock that never goes back. For every duration and deadline. */
  monotonic(): number;
  /**
   * Resolves after `ms` milliseconds.
   *
   * @throws `signal.reason` as soon as `signal` aborts; the timer is freed.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `callback` once, after `ms` milliseconds of {@link monotonic}, and never before. `ms` may be any number: there is no longest time.
   *
   * @returns a handle that cancels the timer when disposed.
   */
  setTimer(ms: number, callback: () => void): Disposable;
}

/** Source of random numbers; not for secrets. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A random RFC 9562 version 4 UUID. */
  uuid(): string;
}

/**
 * {@link Clock.sleep} of a clock that has timers: resolves after `ms` milliseconds.
 *
 * @throws `signal.reason` as soon as `signal` aborts; the timer is freed.
 */
export function sleepOn(clock: Pick<Clock, "setTimer">, ms: number, signal?: AbortSignal): Promise<void> {
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
