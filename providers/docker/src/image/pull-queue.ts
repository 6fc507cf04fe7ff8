import { Semaphore, SingleFlight } from "@virtual-kubelet/async";

/**
 * Does the same work once for all who ask for it meanwhile, and only so many works at once; others wait their turn.
 * When the last who waits for a work has gone, it is aborted.
 */
export class PullQueue<T> {
  readonly #flights = new SingleFlight<T>();
  readonly #semaphore: Semaphore;

  /** @param limit - works at once */
  constructor(limit: number) {
    this.#semaphore = new Semaphore(limit);
  }

  /** Joins the work of that key, or begins it. @throws `signal.reason` when aborted, else what the work throws */
  run(key: string, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#flights.run(key, (inner) => this.#semaphore.run(() => work(inner), inner), signal);
  }
}
