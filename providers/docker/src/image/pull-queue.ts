import { Semaphore, SingleFlight } from "@virtual-kubelet/async";

/**
 * Shares work between callers with the same key, and limits the number of works in progress; further ones wait. A work is aborted when its
 * last caller has left.
 */
export class PullQueue<T> {
  readonly #flights = new SingleFlight<T>();
  readonly #semaphore: Semaphore;

  /** @param limit - maximum number of works in progress */
  constructor(limit: number) {
    this.#semaphore = new Semaphore(limit);
  }

  /** Joins the key's work, or starts it. @throws `signal.reason` when aborted, else errors of the work */
  run(key: string, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#flights.run(key, (inner) => this.#semaphore.run(() => work(inner), inner), signal);
  }
}
