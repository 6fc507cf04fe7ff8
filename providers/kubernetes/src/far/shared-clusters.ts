/** A share of a far cluster, which its last user closes. */
export interface FarClusterShare<Far> extends AsyncDisposable {
  readonly far: Far;
}

interface Entry<Far> {
  readonly opening: Promise<Far>;
  users: number;
}

/** Far clusters that are shared by the nodes of a process, by key. */
export class SharedClusters<Far extends AsyncDisposable> {
  readonly #entries = new Map<string, Entry<Far>>();

  /** Opens the far cluster, or joins those who have it open. */
  async acquire(key: string, open: () => Promise<Far>): Promise<FarClusterShare<Far>> {
    const entry = this.#entries.get(key) ?? { opening: open(), users: 0 };
    this.#entries.set(key, entry);
    entry.users++;
    let isReleased = false;
    const release = async (): Promise<void> => {
      if (isReleased) return;
      isReleased = true;
      if (--entry.users > 0) return;
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      await (await entry.opening)[Symbol.asyncDispose]();
    };
    try {
      return { far: await entry.opening, [Symbol.asyncDispose]: release };
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }
}
