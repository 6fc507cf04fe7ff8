import type { Clock } from "@virtual-kubelet/clock";
import { readFile } from "node:fs/promises";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";

/**
 * Polling interval. The files are polled because a mounted secret is replaced by a symbolic link, which file system events report
 * differently on each system.
 */
const intervalMs = 5_000;

export interface FileListener {
  /** Called with the new contents, in the order of the paths. Errors that it throws go to {@link onError}. */
  onChange(contents: readonly string[]): void;
  /** Called when the files become unreadable or invalid, once for each such state. */
  onError(error: unknown): void;
  /** Called after every poll. */
  onLook?(): void;
}

/** Files that belong together and can be replaced at any time, such as a certificate and its key. */
export class WatchedFiles {
  readonly #paths: readonly string[];
  readonly #clock: Clock;
  #seen = "";

  constructor(paths: readonly string[], clock: Clock) {
    this.#paths = paths;
    this.#clock = clock;
  }

  /** Reads the contents, in the order of the paths. @throws InvalidInputError if a file cannot be read */
  async read(): Promise<readonly string[]> {
    const contents = await Promise.all(this.#paths.map(readText));
    this.#seen = JSON.stringify(contents);
    return contents;
  }

  /** Reports changes since the last {@link read}, and resolves when aborted. */
  async run(signal: AbortSignal, listener: FileListener): Promise<void> {
    for (;;) {
      try {
        await this.#clock.sleep(intervalMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      await this.#look(listener);
      listener.onLook?.();
    }
  }

  async #look(listener: FileListener): Promise<void> {
    const before = this.#seen;
    try {
      const contents = await this.read();
      if (this.#seen !== before) listener.onChange(contents);
    } catch (error) {
      // A read error is a state too, so that the next valid content is a change.
      if (this.#seen === before) this.#seen = messageOf(error);
      if (this.#seen !== before) listener.onError(error);
    }
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new InvalidInputError(`read ${path}: ${messageOf(error)}`, { cause: error });
  }
}
