import type { WatchEvent } from "./client.ts";

/** The events of a watch. It can be read in turns, without a promise for each event; readers that do not know that lose nothing. */
export interface WatchEvents<T> extends AsyncIterator<WatchEvent<T>, void>, AsyncIterable<WatchEvent<T>> {
  /**
   * Returns an event that has already arrived; `undefined` if the next one has to be waited for.
   *
   * @throws as `next()` rejects
   */
  arrived(): WatchEvent<T> | undefined;
}

/** Whether the events can be read without waiting. */
export function hasArrived<T>(events: AsyncIterator<WatchEvent<T>>): events is WatchEvents<T> {
  return "arrived" in events;
}

/**
 * Returns the events of a watch's lines.
 *
 * @param lines - the lines as they arrive, several at once
 * @param read - returns a line's event; if it throws, the lines are left
 */
export function watchEvents<T>(lines: AsyncGenerator<readonly string[], void>, read: (line: string) => WatchEvent<T>): WatchEvents<T> {
  return new LineEvents(lines, read);
}

class LineEvents<T> implements WatchEvents<T> {
  readonly #source: AsyncGenerator<readonly string[], void>;
  readonly #read: (line: string) => WatchEvent<T>;
  #lines: readonly string[] = [];
  #index = 0;

  constructor(source: AsyncGenerator<readonly string[], void>, read: (line: string) => WatchEvent<T>) {
    this.#source = source;
    this.#read = read;
  }

  [Symbol.asyncIterator](): WatchEvents<T> {
    return this;
  }

  arrived(): WatchEvent<T> | undefined {
    const line = this.#lines[this.#index++];
    if (line === undefined) return undefined;
    try {
      return this.#read(line);
    } catch (error) {
      void this.return().catch(() => {});
      throw error;
    }
  }

  async next(): Promise<IteratorResult<WatchEvent<T>, void>> {
    let value = this.arrived();
    while (!value) {
      const { done, value: lines } = await this.#source.next();
      // Another call may have left some of the lines that it waited for.
      if (lines) this.#lines = this.#index < this.#lines.length ? [...this.#lines.slice(this.#index), ...lines] : lines;
      if (lines) this.#index = 0;
      value = this.arrived();
      if (done && !value) return { done, value: undefined };
    }
    return { done: false, value };
  }

  async return(): Promise<IteratorResult<WatchEvent<T>, void>> {
    this.#lines = [];
    await this.#source.return();
    return { done: true, value: undefined };
  }
}
