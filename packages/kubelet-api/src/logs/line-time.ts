import { formatLogTime, isBefore, parseLogTime, type LogTime } from "./log-time.ts";

const [zero, nine, dot, zulu] = [48, 57, 46, 90];

/** Length of `2026-03-01T10:00:00`. */
const wholeSeconds = 19;
const separators: ReadonlyMap<number, number> = new Map([
  [4, 45],
  [7, 45],
  [10, 84],
  [13, 58],
  [16, 58],
]);

/** Whether the bytes begin with a time. */
export function beginsWithTime(bytes: Uint8Array, at: number, end: number): boolean {
  if (end - at <= wholeSeconds) return false;
  for (let index = 0; index < wholeSeconds; index++) {
    const byte = bytes[at + index] ?? 0;
    const separator = separators.get(index);
    if (separator === undefined ? byte < zero || byte > nine : byte !== separator) return false;
  }
  return true;
}

/** Whether the time has the format of logs: UTC with nine fractional digits. */
export function hasNineDigits(bytes: Uint8Array, at: number, end: number): boolean {
  return end - at === 30 && bytes[at + wholeSeconds] === dot && bytes[end - 1] === zulu;
}

/** Writes a time with nine fractional digits, in its own zone. Text without a zone is returned unchanged. */
export function withNineDigits(time: string): string {
  const zone = time.slice(wholeSeconds).search(/[Z+-]/) + wholeSeconds;
  if (zone < wholeSeconds) return time;
  const digits = time.slice(wholeSeconds + 1, zone).slice(0, 9);
  return `${time.slice(0, wholeSeconds)}.${digits.padEnd(9, "0")}${time.slice(zone)}`;
}

/** Compares the times of lines with a given time. */
export class LineTimeFilter {
  readonly #since: LogTime;
  /** The time as text. Texts sort like times if both are UTC with nine fractional digits. */
  readonly #text: Buffer;

  constructor(since: LogTime) {
    this.#since = since;
    this.#text = Buffer.from(formatLogTime(since), "latin1");
  }

  /** Whether the line's time is before the given one; `undefined` if it is malformed. */
  isBefore(bytes: Uint8Array, at: number, end: number): boolean | undefined {
    if (hasNineDigits(bytes, at, end) && this.#text.length === 30) return this.#text.compare(bytes, at, end) > 0;
    const time = parseLogTime(textOf(bytes, at, end));
    return time && isBefore(time, this.#since);
  }
}

export function textOf(bytes: Uint8Array, at: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + at, end - at).toString("latin1");
}
