import type { Clock } from "@virtual-kubelet/clock";

/** Source: k8s.io/apiserver v0.36.3 pkg/storage/storagebackend/config.go, `DefaultCompactInterval`. */
const retainedMs = 5 * 60_000;
/** Distance of two marks; the memory that they need is bounded by it. */
const markMs = 10_000;

/** The latest version at a time of the monotonic clock. */
interface Mark {
  readonly resourceVersion: number;
  readonly atMs: number;
}

/**
 * Knows which versions a kube-apiserver would have compacted in etcd: those that were superseded more than five minutes ago. Times are only
 * known while a continue token is outstanding: a timer notes the latest version every ten seconds, until the versions of all tokens are
 * compacted.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/storage/etcd3/compact.go.
 */
export class Compaction implements Disposable {
  readonly #clock: Clock;
  readonly #latest: () => number;
  #marks: readonly Mark[] = [];
  /** Highest version of a token. */
  #continued = 0;
  #timer: Disposable | undefined;
  #isDisposed = false;

  /** @param latest - returns the latest version */
  constructor(clock: Clock, latest: () => number) {
    this.#clock = clock;
    this.#latest = latest;
  }

  /** Starts to note versions, because a list of this version can be continued. */
  onContinueToken(resourceVersion: number): void {
    this.#continued = Math.max(this.#continued, resourceVersion);
    if (this.#timer === undefined && !this.#isDisposed) this.#note();
  }

  /** Whether a version is no longer retained. */
  isCompacted(resourceVersion: number): boolean {
    const untilMs = this.#clock.monotonic() - retainedMs;
    return this.#marks.some((mark) => mark.atMs <= untilMs && mark.resourceVersion > resourceVersion);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #note(): void {
    this.#marks = withMark(this.#marks, { resourceVersion: this.#latest(), atMs: this.#clock.monotonic() });
    this.#timer = this.isCompacted(this.#continued) ? undefined : this.#clock.setTimer(markMs, () => this.#note());
  }
}

/** Adds a mark, and removes those that say nothing more than a later one that is old enough. */
function withMark(marks: readonly Mark[], mark: Mark): readonly Mark[] {
  if (marks.at(-1)?.resourceVersion === mark.resourceVersion) return marks;
  const firstRetained = marks.findLastIndex(({ atMs }) => mark.atMs - atMs >= retainedMs);
  return [...marks.slice(Math.max(0, firstRetained)), mark];
}
