import { isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import type { Clock, Logger } from "@virtual-kubelet/core";

const firstPauseMs = 1000;
const maxPauseMs = 30_000;

/**
 * Work that has to succeed in the end, whoever waits for it: one at a time under each key, tried again with growing pauses,
 * until disposed. What finds nothing left to do is done.
 */
export class Background implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #abort = new AbortController();
  readonly #running = new Map<string, Promise<void>>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Aborts when all of it is to end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Does it, unless it is being done. */
  run(key: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#running.has(key) || this.signal.aborted) return;
    const done = this.#try(key, work).finally(() => this.#running.delete(key));
    this.#running.set(key, done);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error("the Nomad provider is disposed"));
    await Promise.all(this.#running.values());
  }

  async #try(key: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this;
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
      try {
        return await work(signal);
      } catch (error) {
        if (signal.aborted || isNotFound(error)) return;
        this.#logger.warn({ work: key, err: messageOf(error), pauseMs }, "work at Nomad failed; trying again");
      }
      await this.#clock.sleep(pauseMs, signal).catch(() => {});
    }
  }
}
