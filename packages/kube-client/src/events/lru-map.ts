/** A map of bounded size that forgets the entry that was not used for the longest time. */
export class LruMap<K, V> {
  readonly #limit: number;
  /** In the order of their last use. */
  readonly #entries = new Map<K, V>();

  /** @param limit - entries it holds at most */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Entries it holds. */
  get size(): number {
    return this.#entries.size;
  }

  /** The value, which counts as used now. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** Sets the value, which counts as used now. */
  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#limit) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}
