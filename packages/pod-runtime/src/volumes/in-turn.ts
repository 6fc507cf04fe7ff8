/** Runs calls of one key one after the other, in the order they came. */
export class InTurn {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs a call when those before it have ended, however they ended. @throws what it throws */
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
