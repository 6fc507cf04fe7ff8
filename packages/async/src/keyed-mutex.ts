/** Mutual exclusion by key: calls of one key run one after the other, in the order they came. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs a call as soon as all earlier calls of its key have ended, with or without an error. @throws what it throws */
  async run<T>(key: string, call: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(key) ?? Promise.resolve()).then(call, call);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
