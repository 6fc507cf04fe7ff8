/** One entry of an engine's log: a line, or a part of a line longer than 16 KiB. */
export interface LogEntry {
  /** The time, a space, and the text, with a newline if it ends the line. */
  readonly bytes: Buffer;
  /** Offset of the text. */
  readonly textAt: number;
}

const newline = 10;
const space = 32;

/** Maximum length of an entry's time, with the space. */
export const maxTimeBytes = 40;

/** Whether the entry ends its line. */
export function endsLine({ bytes }: LogEntry): boolean {
  return bytes.at(-1) === newline;
}

/** The entry's time: RFC 3339 with nine digits, in the engine's notation. */
export function timeOf({ bytes, textAt }: LogEntry): string {
  return bytes.toString("latin1", 0, textAt - 1);
}

/** Finds the end of an entry's time. @throws Error if there is none */
export function parseLogEntry(bytes: Buffer): LogEntry {
  const at = bytes.subarray(0, maxTimeBytes).indexOf(space);
  if (at <= 0) throw new Error(`the engine's log has an entry without a time: ${JSON.stringify(bytes.toString("utf8", 0, 60))}`);
  return { bytes, textAt: at + 1 };
}
