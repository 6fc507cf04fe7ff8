/** Callbacks for changes. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** @returns subscription; disposing it ends the calls */
  add(listener: () => void): Disposable {
    // A wrapper, because the same function may be added twice.
    const own = (): void => listener();
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  /** Calls all listeners in the order they were added. */
  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
