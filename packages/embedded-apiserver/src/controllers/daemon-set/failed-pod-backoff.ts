/** Source: Kubernetes v1.36.3 pkg/controller/daemon/daemon_controller.go, `BackoffGCInterval` and the limits in app/apps.go. */
const firstMs = 1000;
const longestMs = 15 * 60_000;

/** Exponential back-off for replacing failed pods, by node. */
export class FailedPodBackoff {
  readonly #entries = new Map<string, { readonly delayMs: number; readonly sinceMs: number }>();

  /** Remaining delay before the next replacement, in milliseconds. */
  waitMs(key: string, nowMs: number): number {
    const entry = this.#entries.get(key);
    return entry === undefined ? 0 : Math.max(0, entry.sinceMs + entry.delayMs - nowMs);
  }

  /** Records a replacement. */
  note(key: string, nowMs: number): void {
    const entry = this.#entries.get(key);
    const isForgotten = entry === undefined || nowMs - entry.sinceMs > 2 * longestMs;
    this.#entries.set(key, { delayMs: isForgotten ? firstMs : Math.min(entry.delayMs * 2, longestMs), sinceMs: nowMs });
  }

  /** Removes all entries whose key has this prefix. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }
}
