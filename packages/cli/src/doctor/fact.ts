/** A check could not be made, because it needs a fact that another check reports as missing. */
export class SkippedError extends Error {
  override readonly name = "SkippedError";
}

/**
 * Something that several checks look at, such as the Node object. It is read once, when the first of them asks. One check owns it, and
 * reports why it cannot be read; all others are skipped then.
 */
export class Fact<T> {
  readonly #owner: string;
  readonly #read: () => Promise<T>;
  #value: Promise<T> | undefined;

  /** @param owner - name of the check that reports why it cannot be read */
  constructor(owner: string, read: () => Promise<T>) {
    this.#owner = owner;
    this.#read = read;
  }

  /** For the owner. @throws the error of the reading; SkippedError if it needs another fact that is missing */
  own(): Promise<T> {
    return (this.#value ??= this.#read());
  }

  /** For every other check. @throws SkippedError if it cannot be read */
  async needed(): Promise<T> {
    try {
      return await this.own();
    } catch (error) {
      if (error instanceof SkippedError) throw error;
      throw new SkippedError(`needs ${this.#owner}`, { cause: error });
    }
  }
}
