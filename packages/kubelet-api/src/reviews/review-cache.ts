import { untilAborted } from "@virtual-kubelet/async";
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
}

/** Whether an answer was kept or had to be asked for. */
export type ReviewOrigin = "hit" | "miss";

interface Kept<T> {
  readonly answer: T;
  readonly untilMs: number;
}

/**
 * Answers of the API server by question. Equal questions that come together are one; errors are not kept. A question
 * goes on when who asked gives up: the answer is kept for the next one.
 */
export class ReviewCache<T> {
  readonly #options: ReviewCacheOptions;
  readonly #kept = new Map<string, Kept<T>>();
  readonly #pending = new Map<string, Promise<T>>();

  constructor(options: ReviewCacheOptions) {
    this.#options = options;
  }

  /** How many answers are kept, those that no longer count among them. */
  get size(): number {
    return this.#kept.size;
  }

  /** Whether the answer is there and counts. */
  has(key: string): boolean {
    const kept = this.#kept.get(key);
    return kept !== undefined && this.#options.clock.monotonic() < kept.untilMs;
  }

  /**
   * The answer kept, else that of the question under way, else that of `ask`.
   *
   * @throws UnavailableError if too many questions are under way; what `ask` throws; `signal.reason` when aborted
   */
  async get(key: string, ask: () => Promise<Review<T>>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const kept = this.#kept.get(key);
    if (kept) {
      this.#kept.delete(key);
      if (this.#options.clock.monotonic() < kept.untilMs) {
        this.#kept.set(key, kept);
        return kept.answer;
      }
    }
    return untilAborted(this.#pending.get(key) ?? this.#start(key, ask), signal);
  }

  #start(key: string, ask: () => Promise<Review<T>>): Promise<T> {
    const { maxPending } = this.#options;
    if (this.#pending.size >= maxPending)
      return Promise.reject(new UnavailableError(`ask the API server: ${maxPending} questions are under way already`));
    const answer = this.#ask(key, ask).finally(() => this.#pending.delete(key));
    // A failure is for those who wait; here it only must not go unhandled.
    answer.catch(() => {});
    this.#pending.set(key, answer);
    return answer;
  }

  async #ask(key: string, ask: () => Promise<Review<T>>): Promise<T> {
    const { capacity, clock } = this.#options;
    const { answer, ttlMs } = await ask();
    if (ttlMs > 0) {
      this.#kept.set(key, { answer, untilMs: clock.monotonic() + ttlMs });
      for (const oldest of this.#kept.keys()) {
        if (this.#kept.size <= capacity) break;
        this.#kept.delete(oldest);
      }
    }
    return answer;
  }
}
