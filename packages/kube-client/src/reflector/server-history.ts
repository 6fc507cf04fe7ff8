import type { Logger } from "../telemetry/logger.ts";

/** What {@link ServerHistory} needs. */
export interface ServerHistoryOptions {
  /** The API server as people know it, such as `the API server`. It is for the log. */
  readonly server: string;
  readonly logger: Logger;
}

/**
 * Notices that the versions of an API server have fallen, because it was restored from a backup, or because another one answers at its
 * address. A server continues a watch from a version of its former history without an error, and shows nothing until its versions have caught
 * up. So everything that was followed has to be listed anew, as a {@link Reflector} does that has this history.
 */
export class ServerHistory {
  readonly #options: ServerHistoryOptions;
  readonly #listeners = new Set<() => void>();
  /** The last version of each series. */
  readonly #versions = new Map<string, number>();

  constructor(options: ServerHistoryOptions) {
    this.#options = options;
  }

  /**
   * Compares a version with the one noted before in its series, and calls the listeners if it is lower. Then the versions of all other
   * series are forgotten, because they are of the former history, so that each fall is told once.
   *
   * @param resourceVersion - of a write, or of a consistent read (one without a `resourceVersion` of its own). The requests of a series must
   * follow one another, so that no answer overtakes another. A version that is not a number is ignored.
   * @param series - name of the series, such as that of an object. Default: one for all
   */
  note(resourceVersion = "", series = ""): void {
    if (!/^[1-9]\d*$/.test(resourceVersion)) return;
    const version = Number(resourceVersion);
    const before = this.#versions.get(series) ?? -Infinity;
    if (version < before) this.#versions.clear();
    this.#versions.set(series, version);
    if (version >= before) return;
    const { server, logger } = this.#options;
    logger.warn(
      { resourceVersion: version, before },
      `${server} is older than it was: it was restored from a backup, or another has its address; everything is listed anew`,
    );
    for (const listener of this.#listeners) listener();
  }

  /** Forgets a series that has ended. */
  forget(series: string): void {
    this.#versions.delete(series);
  }

  /** Calls the listener when the versions have fallen. It returns at once. */
  onRestored(listener: () => void): Disposable {
    const own = (): void => listener();
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }
}
