import type { Clock, Logger } from "@virtual-kubelet/core";
import { diskUse } from "./disk-use.ts";

/** A folder with a size limit. */
export interface LimitedFolder {
  readonly path: string;
  readonly limitBytes: number;
  /** Called each time the folder is found to be too large. */
  onExceeded(): void;
}

export interface SizeWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly intervalMs: number;
  /** The folders to watch now. */
  folders(): readonly LimitedFolder[];
}

/** Measures folders with a limit at intervals. Idle while there are none. */
export class SizeWatch implements Disposable {
  readonly #options: SizeWatchOptions;
  readonly #stop = new AbortController();
  #timer: Disposable | undefined;

  constructor(options: SizeWatchOptions) {
    this.#options = options;
  }

  /** Must be called after a folder was added. */
  wake(): void {
    const { clock, intervalMs, folders } = this.#options;
    if (this.#timer || this.#stop.signal.aborted || folders().length === 0) return;
    this.#timer = clock.setTimer(intervalMs, () => void this.#check());
  }

  async #check(): Promise<void> {
    const { folders, logger, clock } = this.#options;
    const watched = folders();
    try {
      const used = await diskUse(
        watched.map(({ path }) => path),
        { clock, signal: this.#stop.signal },
      );
      for (const { path, limitBytes, onExceeded } of watched) if ((used.get(path) ?? 0) > limitBytes) onExceeded();
    } catch (error) {
      if (!this.#stop.signal.aborted) logger.warn({ err: error }, "the size of volumes could not be measured");
    } finally {
      this.#timer = undefined;
      this.wake();
    }
  }

  [Symbol.dispose](): void {
    this.#stop.abort(new Error("sizes are not watched any more"));
    this.#timer?.[Symbol.dispose]();
  }
}
