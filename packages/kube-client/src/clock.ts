/**
 * Time as the project's packages see it. Everything that waits or reads the time takes one, so that tests and the
 * simulation can run it.
 */
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
  /** Calls back once, after `ms` milliseconds. @returns a handle that cancels it when disposed. */
  setTimer(ms: number, callback: () => void): Disposable;
}

/** Randomness as the project's packages see it. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A random RFC 9562 version 4 UUID. */
  uuid(): string;
}
