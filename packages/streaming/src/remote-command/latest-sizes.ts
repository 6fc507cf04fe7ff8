import type { TerminalSize } from "./terminal-size.ts";

/** Sizes of a terminal. A reader gets the latest size, and skips those that came while it was busy. */
export class LatestSizes implements AsyncIterable<TerminalSize> {
  #last: TerminalSize | undefined;
  #version = 0;
  #ended = false;
  #wake = Promise.withResolvers<void>();

  set(size: TerminalSize): void {
    if (this.#ended) return;
    this.#last = size;
    this.#version++;
    this.#notify();
  }

  end(): void {
    this.#ended = true;
    this.#notify();
  }

  [Symbol.asyncIterator](): AsyncIterator<TerminalSize> {
    let seen = 0;
    let left = false;
    return {
      next: async () => {
        for (;;) {
          if (left) return { done: true, value: undefined };
          if (this.#last !== undefined && this.#version !== seen) {
            seen = this.#version;
            return { done: false, value: this.#last };
          }
          if (this.#ended) return { done: true, value: undefined };
          await this.#wake.promise;
        }
      },
      return: () => {
        left = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  #notify(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
