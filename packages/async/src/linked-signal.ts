/**
 * Linked signals by source. A source has one listener for all of them, because Node.js compares each listener that is added with all others,
 * which takes long if there are thousands.
 */
const linksOf = new WeakMap<AbortSignal, Set<LinkedSignal>>();

function onSourceAbort(this: AbortSignal): void {
  for (const link of linksOf.get(this) ?? []) link.abort(this.reason);
}

/** A signal that aborts when one of several does, and lets go of them when it is disposed. */
export class LinkedSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];

  constructor(...sources: readonly AbortSignal[]) {
    this.#sources = sources;
    for (const source of sources) {
      if (source.aborted) this.abort(source.reason);
      const links = linksOf.get(source) ?? new Set();
      linksOf.set(source, links.add(this));
      if (links.size === 1) source.addEventListener("abort", onSourceAbort, { once: true });
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
    for (const source of this.#sources) {
      const links = linksOf.get(source);
      if (links?.delete(this) && links.size === 0) source.removeEventListener("abort", onSourceAbort);
    }
  }
}
