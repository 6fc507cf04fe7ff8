/** Lets only so many work at once; the others wait their turn, in the order they came. */
export class Turnstile {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  /** @param places - how many may work at once */
  constructor(places: number) {
    this.#free = places;
  }

  /** Works when it is its turn. @throws `signal.reason` when aborted before; else what the work throws */
  async pass<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      this.#waiting.splice(this.#waiting.indexOf(resolve), 1);
      reject(signal.reason);
    };
    this.#waiting.push(resolve);
    signal.addEventListener("abort", onAbort, { once: true });
    // Once it is its turn it is in the queue no more.
    await promise.finally(() => signal.removeEventListener("abort", onAbort));
  }
}
