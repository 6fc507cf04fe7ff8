import { SingleFlight, untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";

/** Answer of the API server, and how long it may be cached. */
export interface Review<T> {
  readonly answer: T;
  /** 0 means that the answer is not cached. */
  readonly ttlMs: number;
}

export interface ReviewCacheOptions {
  /** Maximum number of cached answers. The least recently used ones are evicted. */
  readonly capacity: number;
  /** Maximum number of calls in progress, so that a flood of made-up credentials does not reach the API server. */
  readonly maxPending: number;
  readonly clock: Clock;
  /** Aborts the calls in progress. */
  readonly lifetime: AbortSignal;
}

interface CachedAnswer<T> {
  readonly answer: T;
  readonly untilMs: number;
}

/**
 * Caches answers of the API server. Concurrent calls for the same key share one request, and errors are not cached. A request continues
 * after its caller has given up, because its answer is cached for the next one.
 */
export class ReviewCache<T> {
  readonly #options: ReviewCacheOptions;
  readonly #cached = new Map<string, CachedAnswer<T>>();
  readonly #calls = new SingleFlight<T>();
  #pending = 0;

  constructor(options: ReviewCacheOptions) {
    this.#options = options;
  }

  /** Number of cached answers, including expired ones. */
  get size(): number {
    return this.#cached.size;
  }

  /** Whether an unexpired answer is cached. */
  has(key: string): boolean {
    const cached = this.#cached.get(key);
    return cached !== undefined && this.#options.clock.monotonic() < cached.untilMs;
  }

  /**
   * Returns the cached answer, or else joins the call in progress for the key, or else calls `ask`.
   *
   * @throws UnavailableError if too many calls are in progress; what `ask` throws; `signal.reason` when aborted
   */
  async get(key: string, ask: (lifetime: AbortSignal) => Promise<Review<T>>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const cached = this.#cached.get(key);
    if (cached) {
      this.#cached.delete(key);
      if (this.#options.clock.monotonic() < cached.untilMs) {
        this.#cached.set(key, cached);
        return cached.answer;
      }
    }
    const { lifetime } = this.#options;
    return untilAborted(
      this.#calls.run(key, (callSignal) => this.#ask(key, ask, callSignal), lifetime),
      signal,
    );
  }

  async #ask(key: string, ask: (lifetime: AbortSignal) => Promise<Review<T>>, signal: AbortSignal): Promise<T> {
    const { capacity, maxPending, clock } = this.#options;
    if (this.#pending >= maxPending) throw new UnavailableError(`ask the API server: ${maxPending} reviews are in progress already`);
    this.#pending++;
    try {
      const { answer, ttlMs } = await ask(signal);
      if (ttlMs > 0) this.#keep(key, { answer, untilMs: clock.monotonic() + ttlMs }, capacity);
      return answer;
    } finally {
      this.#pending--;
    }
  }

  #keep(key: string, answer: CachedAnswer<T>, capacity: number): void {
    this.#cached.set(key, answer);
    for (const oldest of this.#cached.keys()) {
      if (this.#cached.size <= capacity) break;
      this.#cached.delete(oldest);
    }
  }
}
