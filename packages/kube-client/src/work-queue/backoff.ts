import type { Random } from "@virtual-kubelet/clock";

/** An exponential back-off. */
export interface Backoff {
  /** First wait, in milliseconds. */
  readonly initialMs: number;
  /** Longest wait, in milliseconds. */
  readonly maxMs: number;
  /** What each wait is of the one before. Default 2. */
  readonly factor?: number | undefined;
}

/**
 * How long to wait after `failures` failures in a row (from 1): between half of the exponential step and all of it, so
 * that many who failed together do not come back together.
 */
export function backoffMs(backoff: Backoff, failures: number, random: Random): number {
  const stepMs = Math.min(backoff.maxMs, backoff.initialMs * (backoff.factor ?? 2) ** (failures - 1));
  return stepMs * (0.5 + 0.5 * random.next());
}

/** How long the other side asked to be left alone, in milliseconds: `retryAfterMs` of the error or of one of its causes. */
export function retryAfterMsOf(error: unknown): number | undefined {
  for (let current = error, depth = 0; typeof current === "object" && current !== null && depth < 32; depth++) {
    const { retryAfterMs, cause } = current as { retryAfterMs?: unknown; cause?: unknown };
    if (typeof retryAfterMs === "number" && retryAfterMs >= 0) return retryAfterMs;
    current = cause;
  }
  return undefined;
}
