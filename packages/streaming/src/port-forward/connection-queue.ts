import type { PortForwardConnection } from "./session.ts";

/** Connections as they are opened, for one reader; one that is dropped while it waits is forgotten. The number of streams bounds it. */
export class ConnectionQueue implements AsyncIterable<PortForwardConnection> {
  readonly #onLeft: () => void;
  readonly #waiting = new Set<PortForwardConnection>();
  #ended = false;
  #wake = Promise.withResolvers<void>();

  /** @param onLeft - told when the reader stops reading before the end */
  constructor(onLeft: () => void) {
    this.#onLeft = onLeft;
  }

  /** A connection was opened. */
  add(connection: PortForwardConnection): void {
    if (this.#ended) return;
    this.#waiting.add(connection);
    connection.stream.once("close", () => this.#waiting.delete(connection));
    this.#wake.resolve();
  }

  /** There will be no more; those that nobody took are dropped. */
  end(): void {
    this.#ended = true;
    this.#waiting.clear();
    this.#wake.resolve();
  }

  [Symbol.asyncIterator](): AsyncIterator<PortForwardConnection> {
    return {
      next: async () => {
        for (;;) {
          const [value] = this.#waiting;
          if (value !== undefined) {
            this.#waiting.delete(value);
            return { done: false, value };
          }
          if (this.#ended) return { done: true, value: undefined };
          await this.#wake.promise;
          this.#wake = Promise.withResolvers();
        }
      },
      return: () => {
        this.#onLeft();
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }
}
