import { systemClock } from "@virtual-kubelet/clock";
import { eventually, logTail, startProcess, startReaper } from "@virtual-kubelet/testing";
import { readFile } from "node:fs/promises";
import { expect } from "vitest";

/** Options of {@link startShipper}. */
interface ShipperOptions {
  readonly program: string;
  readonly args: readonly string[];
  /** Folder that the program sees as `/var/log`. */
  readonly logFolder: string;
  /** File of the program's output. */
  readonly logFile: string;
  /** Text in the output once the program reads logs. */
  readonly readyText: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A log shipper that writes what it has shipped to a file. Disposing stops it. */
export class LogShipper<Line> implements AsyncDisposable {
  readonly #output: string;
  readonly #read: (line: string) => Line[];
  readonly #cleanup: AsyncDisposableStack;

  /**
   * @param output - the file
   * @param read - reads the shipped lines from a line of the file
   * @param cleanup - stops the shipper
   */
  constructor(output: string, read: (line: string) => Line[], cleanup: AsyncDisposableStack) {
    this.#output = output;
    this.#read = read;
    this.#cleanup = cleanup;
  }

  /** Lines shipped so far, in the order of shipping. */
  async lines(): Promise<readonly Line[]> {
    const text = await readFile(this.#output, "utf8");
    // The last line may be incomplete.
    return text.split("\n").slice(0, -1).flatMap(this.#read);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cleanup.disposeAsync();
  }
}

/**
 * Starts a log shipper in a mount namespace where a folder takes the place of `/var/log`; returns when it is ready.
 *
 * @param cleanup - receives the program's end
 */
export async function startShipper(cleanup: AsyncDisposableStack, options: ShipperOptions): Promise<void> {
  const { program, logFolder, logFile, readyText, environment = {} } = options;
  const script = 'mount --bind "$1" /var/log && shift && exec "$@"';
  const args = ["--mount", "sh", "-c", script, "sh", logFolder, program, ...options.args];
  const reaper = cleanup.use(startReaper());
  const process = cleanup.use(
    await startProcess({ name: "log-shipper", program: "unshare", args, environment, logFile }, { reaper, clock: systemClock }),
  );
  await eventually(
    async () => {
      expect(process.exit, await logTail(logFile)).toBeUndefined();
      expect(await readFile(logFile, "utf8")).toContain(readyText);
    },
    { timeoutMs: 60_000, intervalMs: 100, describe: "the log shipper runs" },
  );
}
