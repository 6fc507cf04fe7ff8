import type { PortForwardConnection } from "./session.ts";

/**
 * Queue of opened connections for one reader. Connections that are dropped while they wait are removed. The limit on streams also bounds
 * the queue.
 */
export class ConnectionQueue implements AsyncIterable<PortForwardConnection> {
  readonly #onLeft: () => void;
  readonly #waiting = new Set<PortForwardConnection>();
  #ended = false;
  #wake = Promise.withResolvers<void>();

  /** @param onLeft - called when the reader stops reading before the end */
  constructor(onLeft: () => void) {
    this.#onLeft = onLeft;
  }

  add(connection: PortForwardConnection): void {
    if (this.#ended) return;
    this.#waiting.add(connection);
    connection.stream.once("close", () => this.#waiting.delete(connection));
    this.#wake.resolve();
  }

  /** Ends the queue and drops the connections in it. */
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
