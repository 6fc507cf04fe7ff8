import type { Clock } from "@virtual-kubelet/clock";
import { DeadlineExceededError } from "@virtual-kubelet/errdefs";
import { addAbortCallback, removeAbortCallback } from "./abort-callbacks.ts";

/** How long a call may take. */
export interface Deadline {
  readonly clock: Clock;
  /** In milliseconds. */
  readonly timeoutMs: number;
  /** What is attempted, for the message: `ping the provider`. */
  readonly what: string;
}

/**
 * Calls with a signal that aborts at the deadline, and waits no longer than that, also for a call that does not keep
 * to its signal.
 *
 * @throws `signal.reason` when aborted; DeadlineExceededError when the deadline passes; else what the call throws
 */
export async function withDeadline<T>(
  { clock, timeoutMs, what }: Deadline,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const inner = new AbortController();
  const stop = Promise.withResolvers<never>();
  // Where the call wins the race nobody looks at this one.
  stop.promise.catch(() => {});
  const giveUp = (reason: unknown): void => {
    inner.abort(reason);
    stop.reject(reason);
  };
  const onAbort = (): void => giveUp(signal.reason);
  addAbortCallback(signal, onAbort);
  using _deadline = clock.setTimer(timeoutMs, () => giveUp(new DeadlineExceededError(`${what}: no answer within ${timeoutMs / 1000} s`)));
  try {
    return await Promise.race([(async () => call(inner.signal))(), stop.promise]);
  } finally {
    removeAbortCallback(signal, onAbort);
  }
}
