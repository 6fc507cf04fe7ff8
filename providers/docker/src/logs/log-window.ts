import { endsLine, timeOf, type LogEntry } from "./log-entry.ts";

/** Where the last lines of a log are, in the engine's words: the entries between two times, without the first few. */
export interface LogWindow {
  /** Time of the first entry. */
  readonly since: string;
  /** How many entries of that very time come before it. */
  readonly skip: number;
  /** Time of the last entry that was looked at. */
  readonly until: string;
}

/** A line's beginning. */
interface LineStart {
  readonly time: string;
  /** How many entries right before it have the same time. */
  readonly twins: number;
  /** Whether there may be more of them, before the first that was looked at. */
  readonly mayHaveMoreTwins: boolean;
}

/**
 * Finds where the last lines of a log begin. An engine counts entries, and a line longer than 16 KiB has several, so
 * the last entries it gives may begin in the midst of a line, or have too few lines. Only beginnings are kept.
 */
export class LogWindowFinder {
  readonly #lines: number;
  /** Beginnings of lines; the oldest are dropped. */
  #starts: LineStart[] = [];
  #lineCount = 0;
  #entryCount = 0;
  #last: { readonly time: string; readonly endsLine: boolean } | undefined;
  #twins = 0;

  /** @param lines - how many lines are wanted; 1 or more */
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
   * The window; `"all"` if it is the whole log, and `undefined` if more entries have to be looked at.
   *
   * @param asked - how many entries the engine was asked for
   */
  end(asked: number): LogWindow | "all" | undefined {
    const isWhole = this.#entryCount < asked;
    // The first entry of a part of the log need not begin a line.
    const lines = isWhole ? this.#lineCount : this.#lineCount - 1;
    const start = this.#starts.at(-this.#lines);
    if (lines < this.#lines || start === undefined || this.#last === undefined) return isWhole ? "all" : undefined;
    if (start.mayHaveMoreTwins && !isWhole) return undefined;
    return { since: start.time, skip: start.twins, until: this.#last.time };
  }
}
