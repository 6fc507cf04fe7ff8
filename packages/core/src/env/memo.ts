interface Flight<T> {
  readonly promise: Promise<T>;
  readonly abort: AbortController;
  waiters: number;
}

/**
 * Values by key, each loaded once: who asks while it is being loaded waits for the same load. The load is aborted when
 * nobody waits for it any more. What failed is loaded again the next time.
 */
export class Memo<T> {
  readonly #values = new Map<string, { readonly value: T }>();
  readonly #flights = new Map<string, Flight<T>>();

  /** The value of the key. @throws what `load` throws, and `signal.reason` when aborted */
  async get(key: string, load: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const known = this.#values.get(key);
    if (known) return known.value;
    const flight = this.#flights.get(key) ?? this.#start(key, load);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    flight.waiters++;
    try {
      return await Promise.race([flight.promise, aborted]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      flight.waiters--;
      if (flight.waiters === 0 && this.#flights.get(key) === flight) {
        this.#flights.delete(key);
        flight.abort.abort(signal.reason);
      }
    }
  }

  #start(key: string, load: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const abort = new AbortController();
    const flight: Flight<T> = { promise: load(abort.signal), abort, waiters: 0 };
    // A failure is for those who wait; here it only must not go unhandled.
    flight.promise.then((value) => this.#values.set(key, { value })).catch(() => {});
    this.#flights.set(key, flight);
    return flight;
  }
}
