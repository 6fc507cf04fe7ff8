import { untilAborted } from "./until-aborted.ts";

interface Flight<T> {
  readonly promise: Promise<T>;
  readonly abort: AbortController;
  waiters: number;
}

/**
 * Calls by key of which one at a time is under way: callers that come meanwhile wait for the same call. It is aborted when nobody
 * waits for it any more.
 */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /** Calls, or joins the call under way. @throws what `call` throws, and `signal.reason` when aborted */
  async run(key: string, call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, call);
    flight.waiters++;
    try {
      return await untilAborted(flight.promise, signal);
    } finally {
      flight.waiters--;
      if (flight.waiters === 0 && this.#flights.get(key) === flight) {
        this.#flights.delete(key);
        flight.abort.abort(signal.reason);
      }
    }
  }

  #start(key: string, call: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const abort = new AbortController();
    const flight: Flight<T> = { promise: call(abort.signal), abort, waiters: 0 };
    this.#flights.set(key, flight);
    const forget = (): void => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    // A failure is for those who wait; here it only must not go unhandled.
    flight.promise.then(forget, forget);
    return flight;
  }
}
