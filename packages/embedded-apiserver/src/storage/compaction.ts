/** Source: k8s.io/apiserver v0.36.3 pkg/storage/storagebackend/config.go, `DefaultCompactInterval`. */
const retainedMs = 5 * 60_000;
/** Distance of two marks; the memory that they need is bounded by it. */
const markMs = 10_000;

/**
 * Knows which versions a kube-apiserver would have compacted in etcd: those that were superseded more than five minutes ago. Times are only
 * known for the moments at which lists are read in pages.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/storage/etcd3/compact.go.
 */
export class Compaction {
  #marks: readonly { readonly resourceVersion: number; readonly atMs: number }[] = [];

  /** Notes the latest version at a time in milliseconds since the epoch. */
  note(resourceVersion: number, atMs: number): void {
    const last = this.#marks.at(-1);
    if (last !== undefined && atMs - last.atMs < markMs) return;
    const firstRetained = this.#marks.findLastIndex((mark) => atMs - mark.atMs >= retainedMs);
    this.#marks = [...this.#marks.slice(Math.max(0, firstRetained)), { resourceVersion, atMs }];
  }

  /** Whether a version is no longer retained at a time in milliseconds since the epoch. */
  isCompacted(resourceVersion: number, nowMs: number): boolean {
    return this.#marks.some((mark) => nowMs - mark.atMs >= retainedMs && mark.resourceVersion > resourceVersion);
  }
}
