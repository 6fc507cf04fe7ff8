import type { Clock } from "@virtual-kubelet/clock";
import { readFile } from "node:fs/promises";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";

/**
 * How often files are looked at. They are read, not watched: a mounted secret is a link that is put in the place of
 * another, which systems report in different ways.
 */
const intervalMs = 5_000;

/** What {@link WatchedFiles.run} calls. */
export interface FileListener {
  /** The contents, in the order of the paths, differ from those before. What it throws goes to {@link onError}. */
  onChange(contents: readonly string[]): void;
  /** The files cannot be read, or not be used; called once for each such state, not each time it is found. */
  onError(error: unknown): void;
  /** The files were looked at, whatever was found. */
  onLook?(): void;
}

/** Files that belong together and may be replaced at any time, such as a certificate and its key. */
export class WatchedFiles {
  readonly #paths: readonly string[];
  readonly #clock: Clock;
  #seen = "";

  constructor(paths: readonly string[], clock: Clock) {
    this.#paths = paths;
    this.#clock = clock;
  }

  /** The contents now, in the order of the paths. @throws InvalidInputError if one cannot be read */
  async read(): Promise<readonly string[]> {
    const contents = await Promise.all(this.#paths.map(readText));
    this.#seen = JSON.stringify(contents);
    return contents;
  }

  /** Tells of changes since the last {@link read} until aborted; resolves then. */
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
      // A failure to read is a state as well, so that the next good content is a change.
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
