import type { Clock, Logger } from "@virtual-kubelet/core";
import { isNotFound, messageOf } from "@virtual-kubelet/errdefs";

const firstPauseMs = 1_000;
const maxPauseMs = 30_000;

/** Options of {@link BackgroundWork}. */
export interface BackgroundWorkOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Name of the back end in the log. */
  readonly backEnd: string;
}

/**
 * Work at a back end that has to succeed in the end, whether or not somebody waits for it. There is at most one work of each key at a time. Failed
 * work is repeated, after pauses that grow from 1 s to 30 s, until it succeeds, throws a NotFoundError because nothing is left to do, or this object
 * is disposed of.
 */
export class BackgroundWork implements AsyncDisposable {
  readonly #options: BackgroundWorkOptions;
  readonly #abort = new AbortController();
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: BackgroundWorkOptions) {
    this.#options = options;
  }

  /** Aborted when this object is disposed of. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Starts the work. Does nothing if a work of this key is running. */
  run(key: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#running.has(key) || this.signal.aborted) return;
    const done = this.#repeat(key, work).finally(() => this.#running.delete(key));
    this.#running.set(key, done);
  }

  /** Aborts all work and waits for its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error(`the provider of ${this.#options.backEnd} is disposed`));
    await Promise.all(this.#running.values());
  }

  /** Never rejects. */
  async #repeat(key: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { clock, logger, backEnd } = this.#options;
    const { signal } = this;
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
      try {
        return await work(signal);
      } catch (error) {
        if (signal.aborted || isNotFound(error)) return;
        logger.warn({ work: key, err: messageOf(error), pauseMs }, `work at ${backEnd} failed; trying again`);
      }
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }
}
