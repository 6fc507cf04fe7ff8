import { systemClock, type Clock } from "@virtual-kubelet/clock";
import { DeadlineExceededError, messageOf } from "@virtual-kubelet/errdefs";

/** Options of {@link eventually}. */
export interface EventuallyOptions {
  /** Milliseconds until it gives up; default: 30,000, which allows for a busy machine. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds between attempts; default: 50. */
  readonly intervalMs?: number | undefined;
  /** Description of the awaited state for the error message, which says "waiting for …". */
  readonly describe?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Calls the function until it returns without throwing, and returns its result. A check that hangs is not called again, so pass
 * its signal on.
 *
 * @throws DeadlineExceededError after the time-out, with the last failure as its cause; `signal.reason` when aborted.
 */
export async function eventually<T>(check: (signal: AbortSignal) => T | Promise<T>, options: EventuallyOptions = {}): Promise<T> {
  const { timeoutMs = 30_000, intervalMs = 50, describe = "the check to pass", clock = systemClock } = options;
  const deadline = new AbortController();
  const signal = options.signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, options.signal]);
  const startedMs = clock.monotonic();
  using _timer = clock.setTimer(timeoutMs, () => deadline.abort(new DeadlineExceededError("out of time")));
  let attempts = 0;
  let last: unknown;
  for (;;) {
    try {
      attempts++;
      return await check(signal);
    } catch (error) {
      // The error of an aborted check does not say what was missing.
      if (!signal.aborted) last = error;
    }
    await clock.sleep(intervalMs, signal).catch(() => undefined);
    options.signal?.throwIfAborted();
    if (deadline.signal.aborted || clock.monotonic() - startedMs >= timeoutMs) {
      const why = last === undefined ? "the first check did not return" : messageOf(last);
      throw new DeadlineExceededError(
        `waiting for ${describe}: not reached within ${String(timeoutMs)} ms (attempts: ${String(attempts)}); last failure: ${why}`,
        { cause: last },
      );
    }
  }
}
