import { BytePieces } from "./byte-pieces.ts";
import { beginsWithTime, hasNineDigits, LineTimeFilter, textOf, withNineDigits } from "./line-time.ts";
import type { LogTime } from "./log-time.ts";

const newline = 10;
const space = 32;
const nothing: Uint8Array = Buffer.alloc(0);

/** A time with nine digits and a zone has 35 characters; nothing longer is looked at. */
const maxTimeBytes = 40;

/** What is to be done to lines that begin with their times. */
export interface TimedLinesOptions {
  /** Whether the times stay, with nine digits of a second. */
  readonly keepTimes: boolean;
  /** Lines before it are dropped. */
  readonly since: LogTime | undefined;
}

/**
 * Edits lines that begin with their times, however they are cut into chunks; keeps no more of a line than its time. A
 * line without a time goes the way of the line before it, as it is.
 */
export class TimedLines {
  readonly #keepTimes: boolean;
  readonly #filter: LineTimeFilter | undefined;
  /** The beginning of a line whose time is not there as a whole yet. */
  #begun = nothing;
  #state: "begin" | "pass" | "drop" = "begin";
  #lastPassed: boolean;

  constructor({ keepTimes, since }: TimedLinesOptions) {
    this.#keepTimes = keepTimes;
    this.#filter = since && new LineTimeFilter(since);
    this.#lastPassed = since === undefined;
  }

  /** What the next bytes come to. */
  push(chunk: Uint8Array): Uint8Array {
    const bytes = this.#begun.length > 0 ? Buffer.concat([this.#begun, chunk]) : chunk;
    this.#begun = nothing;
    const out = new BytePieces(bytes);
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === "begin") {
        const next = this.#beginLine(bytes, at, out);
        if (next === undefined) break;
        at = next;
        continue;
      }
      const end = bytes.indexOf(newline, at) + 1 || bytes.length;
      if (this.#state === "pass") out.take(at, end);
      if (bytes[end - 1] === newline) this.#state = "begin";
      at = end;
    }
    return out.join();
  }

  /** What is left when there are no more bytes. */
  end(): Uint8Array {
    return this.#lastPassed ? this.#begun : nothing;
  }

  /** Decides on a line by its time. @returns where its text begins; `undefined` if the time is not there yet */
  #beginLine(bytes: Uint8Array, at: number, out: BytePieces): number | undefined {
    let end = at;
    const limit = Math.min(bytes.length, at + maxTimeBytes);
    while (end < limit && bytes[end] !== space && bytes[end] !== newline) end++;
    if (end === bytes.length && end < at + maxTimeBytes) {
      // A copy: the chunk it lies in may be large.
      this.#begun = Buffer.from(bytes.subarray(at));
      return undefined;
    }
    const isTimed = (bytes[end] === space || bytes[end] === newline) && beginsWithTime(bytes, at, end);
    const isBefore = isTimed ? this.#filter?.isBefore(bytes, at, end) : undefined;
    if (isTimed && !(this.#filter && isBefore === undefined)) this.#lastPassed = isBefore !== true;
    this.#state = this.#lastPassed ? "pass" : "drop";
    if (!isTimed) return at;
    const textAt = bytes[end] === space ? end + 1 : end;
    if (this.#state === "pass" && this.#keepTimes) this.#takeTime(bytes, at, end, out);
    return textAt;
  }

  #takeTime(bytes: Uint8Array, at: number, end: number, out: BytePieces): void {
    if (hasNineDigits(bytes, at, end) && bytes[end] === space) out.take(at, end + 1);
    else out.insert(Buffer.from(`${withNineDigits(textOf(bytes, at, end))} `, "latin1"));
  }
}
