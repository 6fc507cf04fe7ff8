/** What one key's work is shared by. */
interface Shared<T> {
  readonly abort: AbortController;
  readonly work: Promise<T>;
  waiting: number;
}

/**
 * Does the same work once for all who ask for it meanwhile, and only so many works at once; others wait their turn.
 * When the last who waits for a work has gone, it is aborted.
 */
export class PullQueue<T> {
  readonly #limit: number;
  readonly #shared = new Map<string, Shared<T>>();
  readonly #turns: (() => void)[] = [];
  #running = 0;

  /** @param limit - works at once */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Joins the work of that key, or begins it. @throws `signal.reason` when aborted, else what the work throws */
  async run(key: string, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const shared = this.#shared.get(key) ?? this.#begin(key, work);
    shared.waiting += 1;
    const gone = Promise.withResolvers<never>();
    const onAbort = (): void => gone.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([shared.work, gone.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      shared.waiting -= 1;
      if (shared.waiting === 0) {
        if (this.#shared.get(key) === shared) this.#shared.delete(key);
        shared.abort.abort(new Error("nobody waits for it any more"));
      }
    }
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<T>): Shared<T> {
    const abort = new AbortController();
    const shared = { abort, work: this.#inTurn(work, abort.signal), waiting: 0 };
    // Whoever has gone does not hear of its failure.
    shared.work.catch(() => {});
    this.#shared.set(key, shared);
    return shared;
  }

  async #inTurn(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#running < this.#limit) this.#running += 1;
    else await new Promise<void>((resolve) => this.#turns.push(resolve));
    try {
      signal.throwIfAborted();
      return await work(signal);
    } finally {
      const next = this.#turns.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
