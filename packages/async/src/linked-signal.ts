import { addAbortCallback, removeAbortCallback } from "./abort-callbacks.ts";

/** A signal that aborts when one of several does, and lets go of them when it is disposed. */
export class LinkedSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #callbacks = new Map<AbortSignal, () => void>();

  constructor(...sources: readonly AbortSignal[]) {
    for (const source of new Set(sources)) {
      const onAbort = (): void => this.abort(source.reason);
      if (source.aborted) onAbort();
      addAbortCallback(source, onAbort);
      this.#callbacks.set(source, onAbort);
    }
  }

  /** Aborts with the reason of the source that did first, or the one given to {@link abort}. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts it by itself. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Listens to the sources no longer; the signal stays as it is. */
  [Symbol.dispose](): void {
    for (const [source, callback] of this.#callbacks) removeAbortCallback(source, callback);
  }
}
