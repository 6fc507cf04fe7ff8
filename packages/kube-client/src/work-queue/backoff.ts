import type { Random } from "@virtual-kubelet/clock";

/** An exponential back-off. */
export interface Backoff {
  /** First wait in milliseconds. */
  readonly initialMs: number;
  /** Maximum wait in milliseconds. */
  readonly maxMs: number;
  /** Ratio of consecutive waits. Default: 2. */
  readonly factor?: number | undefined;
}

/**
 * Returns the wait after `failures` consecutive failures (from 1): a random part between half and all of the exponential step, so
 * that clients that failed together do not retry together.
 */
export function backoffMs(backoff: Backoff, failures: number, random: Random): number {
  const stepMs = Math.min(backoff.maxMs, backoff.initialMs * (backoff.factor ?? 2) ** (failures - 1));
  return stepMs * (0.5 + 0.5 * random.next());
}

/** Returns the Retry-After in milliseconds: `retryAfterMs` of the error or of one of its causes. */
export function retryAfterMsOf(error: unknown): number | undefined {
  for (let current = error, depth = 0; typeof current === "object" && current !== null && depth < 32; depth++) {
    const { retryAfterMs, cause } = current as { retryAfterMs?: unknown; cause?: unknown };
    if (typeof retryAfterMs === "number" && retryAfterMs >= 0) return retryAfterMs;
    current = cause;
  }
  return undefined;
}
