import { SharedCalls } from "@virtual-kubelet/core";
import { Turnstile } from "@virtual-kubelet/pod-runtime";

/**
 * Does the same work once for all who ask for it meanwhile, and only so many works at once; others wait their turn.
 * When the last who waits for a work has gone, it is aborted.
 */
export class PullQueue<T> {
  readonly #shared = new SharedCalls<T>();
  readonly #turnstile: Turnstile;

  /** @param limit - works at once */
  constructor(limit: number) {
    this.#turnstile = new Turnstile(limit);
  }

  /** Joins the work of that key, or begins it. @throws `signal.reason` when aborted, else what the work throws */
  run(key: string, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#shared.run(key, (inner) => this.#turnstile.pass(() => work(inner), inner), signal);
  }
}
