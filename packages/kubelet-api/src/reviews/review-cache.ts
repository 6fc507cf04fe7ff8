import { SingleFlight, untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";

/** An answer, and for how long it counts. */
export interface Review<T> {
  readonly answer: T;
  /** 0 is not kept at all. */
  readonly ttlMs: number;
}

/** What a {@link ReviewCache} is given. */
export interface ReviewCacheOptions {
  /** Answers that are kept at most; of more, those go that nobody has asked for the longest. */
  readonly capacity: number;
  /** Questions that are under way at most, so that a flood of made-up credentials is no flood for the API server. */
  readonly maxPending: number;
  readonly clock: Clock;
  /** Ends the calls in progress. */
  readonly lifetime: AbortSignal;
}

interface CachedAnswer<T> {
  readonly answer: T;
  readonly untilMs: number;
}

/**
 * Answers of the API server by question. Equal questions that come together are one; errors are not kept. A question
 * goes on when who asked gives up: the answer is kept for the next one.
 */
export class ReviewCache<T> {
  readonly #options: ReviewCacheOptions;
  readonly #cached = new Map<string, CachedAnswer<T>>();
  readonly #calls = new SingleFlight<T>();
  #pending = 0;

  constructor(options: ReviewCacheOptions) {
    this.#options = options;
  }

  /** How many answers are kept, those that no longer count among them. */
  get size(): number {
    return this.#cached.size;
  }

  /** Whether the answer is there and counts. */
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
