import type { Clock } from "@virtual-kubelet/core";
import { DeadlineExceededError } from "@virtual-kubelet/errdefs";

/** By when a call has to have ended. */
export interface CallLimit {
  /** What is called, for the message. */
  readonly what: string;
  readonly ms: number;
  readonly clock: Clock;
}

/**
 * Calls, and waits no longer than that, also for what does not heed its signal.
 *
 * @throws DeadlineExceededError; `outer.reason` when aborted; else what the call throws
 */
export async function callWithin<T>(
  { what, ms, clock }: CallLimit,
  outer: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted();
  const limit = new AbortController();
  const over = Promise.withResolvers<never>();
  const giveUp = (reason: unknown): void => {
    limit.abort(reason);
    over.reject(reason);
  };
  const onAbort = (): void => giveUp(outer.reason);
  outer.addEventListener("abort", onAbort, { once: true });
  using _timer = clock.setTimer(ms, () => giveUp(new DeadlineExceededError(`${what}: no answer within ${ms / 1000} s`)));
  try {
    return await Promise.race([call(limit.signal), over.promise]);
  } finally {
    outer.removeEventListener("abort", onAbort);
  }
}
