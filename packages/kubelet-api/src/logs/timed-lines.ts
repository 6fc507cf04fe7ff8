import { BytePieces } from "./byte-pieces.ts";
import { beginsWithTime, hasNineDigits, LineTimeFilter, textOf, withNineDigits } from "./line-time.ts";
import type { LogTime } from "./log-time.ts";

const newline = 10;
const space = 32;
const nothing: Uint8Array = Buffer.alloc(0);

/** A time with nine fractional digits and a zone has 35 characters; longer words are not times. */
const maxTimeBytes = 40;

export interface TimedLinesOptions {
  /** Keep the times, with nine fractional digits. */
  readonly keepTimes: boolean;
  /** Lines before this time are dropped. */
  readonly since: LogTime | undefined;
}

/**
 * Edits lines that begin with a time, however they are split into chunks, and buffers no more of a line than its time. A line without a
 * time is kept or dropped like the line before it.
 */
export class TimedLines {
  readonly #keepTimes: boolean;
  readonly #filter: LineTimeFilter | undefined;
  /** Beginning of a line whose time is still incomplete. */
  #begun = nothing;
  #state: "begin" | "pass" | "drop" = "begin";
  #lastPassed: boolean;

  constructor({ keepTimes, since }: TimedLinesOptions) {
    this.#keepTimes = keepTimes;
    this.#filter = since && new LineTimeFilter(since);
    this.#lastPassed = since === undefined;
  }

  /** Returns the edited bytes. */
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

  /** Returns what is left at the end of the input. */
  end(): Uint8Array {
    return this.#lastPassed ? this.#begun : nothing;
  }

  /** Decides by a line's time whether to keep it. @returns start of its text; `undefined` if the time is incomplete */
  #beginLine(bytes: Uint8Array, at: number, out: BytePieces): number | undefined {
    let end = at;
    const limit = Math.min(bytes.length, at + maxTimeBytes);
    while (end < limit && bytes[end] !== space && bytes[end] !== newline) end++;
    if (end === bytes.length && end < at + maxTimeBytes) {
      // A copy, so that the chunk can be freed.
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
