/** Those who want to know when something has changed. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** @returns what ends it */
  add(listener: () => void): Disposable {
    // One function may be added twice.
    const own = (): void => listener();
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  /** Tells all of them, in the order they came. */
  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
