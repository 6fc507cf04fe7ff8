import { isBefore, parseLogTime, type LogTime } from "./log-time.ts";

const newline = 10;
const space = 32;
const nothing: Uint8Array = Buffer.alloc(0);

/** A time with nine digits and a zone has 35 characters; nothing longer is looked at. */
const maxTimeBytes = 40;

/** Begins as times do; what does not is a line without one. */
const timeStart = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

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
  readonly #options: TimedLinesOptions;
  /** The beginning of a line whose time is not there as a whole yet. */
  #begun = nothing;
  #state: "begin" | "pass" | "drop" = "begin";
  #lastPassed: boolean;

  constructor(options: TimedLinesOptions) {
    this.#options = options;
    this.#lastPassed = options.since === undefined;
  }

  /** What the next bytes come to. */
  push(chunk: Uint8Array): Uint8Array {
    const bytes = this.#begun.length > 0 ? Buffer.concat([this.#begun, chunk]) : chunk;
    this.#begun = nothing;
    const out: Uint8Array[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === "begin") {
        const next = this.#beginLine(bytes, at, out);
        if (next === undefined) break;
        at = next;
        continue;
      }
      const end = bytes.indexOf(newline, at) + 1 || bytes.length;
      if (this.#state === "pass") out.push(bytes.subarray(at, end));
      if (bytes[end - 1] === newline) this.#state = "begin";
      at = end;
    }
    return out.length === 1 && out[0] ? out[0] : Buffer.concat(out);
  }

  /** What is left when there are no more bytes. */
  end(): Uint8Array {
    const rest = this.#begun;
    return this.#lastPassed ? rest : nothing;
  }

  /** Decides on a line by its time. @returns where its text begins; `undefined` if the time is not there yet */
  #beginLine(bytes: Uint8Array, at: number, out: Uint8Array[]): number | undefined {
    let end = at;
    const limit = Math.min(bytes.length, at + maxTimeBytes);
    while (end < limit && bytes[end] !== space && bytes[end] !== newline) end++;
    if (end === bytes.length && end < at + maxTimeBytes) {
      // A copy: the chunk it lies in may be large.
      this.#begun = Buffer.from(bytes.subarray(at));
      return undefined;
    }
    const time =
      bytes[end] === space || bytes[end] === newline ? Buffer.from(bytes.buffer, bytes.byteOffset + at, end - at).toString("latin1") : "";
    if (!timeStart.test(time)) {
      this.#state = this.#lastPassed ? "pass" : "drop";
      return at;
    }
    this.#state = this.#isWanted(time) ? "pass" : "drop";
    this.#lastPassed = this.#state === "pass";
    if (this.#lastPassed && this.#options.keepTimes) out.push(Buffer.from(`${withNineDigits(time)} `, "latin1"));
    return bytes[end] === space ? end + 1 : end;
  }

  #isWanted(time: string): boolean {
    const { since } = this.#options;
    if (!since) return true;
    const parsed = parseLogTime(time);
    return parsed ? !isBefore(parsed, since) : this.#lastPassed;
  }
}

/** The time with all nine digits of a second. */
function withNineDigits(time: string): string {
  if (time.length === 30 && time.endsWith("Z")) return time;
  const zone = time.slice(19).search(/[Z+-]/) + 19;
  if (zone < 19) return time;
  const digits = time.slice(20, zone).slice(0, 9);
  return `${time.slice(0, 19)}.${digits.padEnd(9, "0")}${time.slice(zone)}`;
}
