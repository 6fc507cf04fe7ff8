import { systemClock, type Clock } from "@virtual-kubelet/clock";
import { DeadlineExceededError, messageOf } from "@virtual-kubelet/errdefs";

/** How long {@link eventually} tries, and how often. */
export interface EventuallyOptions {
  /** Milliseconds until it gives up; default 30,000: what is waited for comes late on a machine that is busy. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds between tries; default 50. */
  readonly intervalMs?: number | undefined;
  /** What is waited for, in words that end "waiting for …"; stands in the error's message. */
  readonly describe?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
}

/**
 * Tries until the function returns without throwing, and returns what it returned. A check that hangs is not tried
 * again: give it the signal it is called with.
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
      // What an aborted check throws says nothing of what was waited for.
      if (!signal.aborted) last = error;
    }
    await clock.sleep(intervalMs, signal).catch(() => undefined);
    options.signal?.throwIfAborted();
    if (deadline.signal.aborted || clock.monotonic() - startedMs >= timeoutMs) {
      const why = last === undefined ? "the first check did not end" : messageOf(last);
      throw new DeadlineExceededError(
        `waiting for ${describe}: not so within ${String(timeoutMs)} ms (${String(attempts)} checks); the last one: ${why}`,
        { cause: last },
      );
    }
  }
}
