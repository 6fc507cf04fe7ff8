import { endsLine, timeOf, type LogEntry } from "./log-entry.ts";

/** Position of the last lines of a log: the entries between two times, without the first few. */
export interface LogWindow {
  /** Time of the first entry. */
  readonly since: string;
  /** Number of entries with that time that come before it. */
  readonly skip: number;
  /** Time of the last entry seen. */
  readonly until: string;
}

/** Start of a line. */
interface LineStart {
  readonly time: string;
  /** Number of entries right before it with the same time. */
  readonly twins: number;
  /** Whether entries that were not requested may have the same time, too. */
  readonly mayHaveMoreTwins: boolean;
}

/**
 * Finds the start of a log's last lines. An engine counts entries, and a line longer than 16 KiB has several, so the last entries may start
 * inside a line, or contain too few lines. Keeps only starts of lines.
 */
export class LogWindowFinder {
  readonly #lines: number;
  /** Starts of lines. The oldest are dropped. */
  #starts: LineStart[] = [];
  #lineCount = 0;
  #entryCount = 0;
  #last: { readonly time: string; readonly endsLine: boolean } | undefined;
  #twins = 0;

  /** @param lines - number of wanted lines; at least 1 */
  constructor(lines: number) {
    this.#lines = lines;
  }

  push(entry: LogEntry): void {
    const time = timeOf(entry);
    this.#twins = this.#last?.time === time ? this.#twins + 1 : 0;
    if (this.#last?.endsLine !== false) {
      this.#starts.push({ time, twins: this.#twins, mayHaveMoreTwins: this.#twins === this.#entryCount });
      this.#lineCount++;
      if (this.#starts.length > 2 * this.#lines) this.#starts = this.#starts.slice(-this.#lines);
    }
    this.#entryCount++;
    this.#last = { time, endsLine: endsLine(entry) };
  }

  /**
   * The window; `"all"` for the whole log, `undefined` if more entries are needed.
   *
   * @param asked - number of entries that were requested
   */
  end(asked: number): LogWindow | "all" | undefined {
    const isWhole = this.#entryCount < asked;
    // The first entry of a partial log may be inside a line.
    const lines = isWhole ? this.#lineCount : this.#lineCount - 1;
    const start = this.#starts.at(-this.#lines);
    if (lines < this.#lines || start === undefined || this.#last === undefined) return isWhole ? "all" : undefined;
    if (start.mayHaveMoreTwins && !isWhole) return undefined;
    return { since: start.time, skip: start.twins, until: this.#last.time };
  }
}
