/** Source: Kubernetes v1.36.3 pkg/controller/daemon/daemon_controller.go, `BackoffGCInterval` and the limits in app/apps.go. */
const firstMs = 1000;
const longestMs = 15 * 60_000;

/** Pods that fail at once again and again are replaced later each time. */
export class FailedPodBackoff {
  readonly #entries = new Map<string, { readonly delayMs: number; readonly sinceMs: number }>();

  /** How long a replacement has to wait yet, in milliseconds. */
  waitMs(key: string, nowMs: number): number {
    const entry = this.#entries.get(key);
    return entry === undefined ? 0 : Math.max(0, entry.sinceMs + entry.delayMs - nowMs);
  }

  /** Notes a replacement. */
  note(key: string, nowMs: number): void {
    const entry = this.#entries.get(key);
    const isForgotten = entry === undefined || nowMs - entry.sinceMs > 2 * longestMs;
    this.#entries.set(key, { delayMs: isForgotten ? firstMs : Math.min(entry.delayMs * 2, longestMs), sinceMs: nowMs });
  }

  /** Forgets all whose key begins so. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }
}
