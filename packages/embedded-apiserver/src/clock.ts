/** Time as the server sees it; the same shape as kube-client's `Clock`, so that one serves both. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never goes back. */
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

/** Randomness as the server sees it; the same shape as kube-client's `Random`. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A random RFC 9562 version 4 UUID. */
  uuid(): string;
}

/** Milliseconds since the epoch as Kubernetes writes them in `metav1.Time`: RFC 3339, UTC, whole seconds. */
export function toTimestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** Milliseconds since the epoch as Kubernetes writes them in `metav1.MicroTime`: six fractional digits. */
export function toMicroTimestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 23)}000Z`;
}
