import type { Random } from "@virtual-kubelet/kube-client";

/** Bounds of a back-off in milliseconds. */
export interface RetryBounds {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** A kubelet's bounds for its lease and its registration. Source: component-helpers v0.36.3 apimachinery/lease. */
export const kubeletRetry: RetryBounds = { firstMs: 100, maxMs: 7_000 };

/**
 * How long to wait before a try: twice as long each time, less up to half of it by chance, so that many nodes do not
 * come back at once.
 *
 * @param failures - how many tries have failed; 1 or more
 */
export function retryDelayMs(failures: number, random: Random, bounds: RetryBounds = kubeletRetry): number {
  const fullMs = Math.min(bounds.maxMs, bounds.firstMs * 2 ** Math.min(failures - 1, 30));
  return fullMs * (0.5 + random.next() / 2);
}
