/** A signal that aborts when one of several does, and lets go of them when it is disposed. */
export class LinkedSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #onAbort: (this: AbortSignal, event: Event) => void;

  constructor(...sources: readonly AbortSignal[]) {
    this.#sources = sources;
    this.#onAbort = (event) => this.abort((event.target as AbortSignal).reason);
    for (const source of sources) {
      if (source.aborted) this.abort(source.reason);
      source.addEventListener("abort", this.#onAbort, { once: true });
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
    for (const source of this.#sources) source.removeEventListener("abort", this.#onAbort);
  }
}
