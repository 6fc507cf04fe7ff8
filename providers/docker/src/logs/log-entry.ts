/** One entry of an engine's log: a line, or a part of one longer than 16 KiB. */
export interface LogEntry {
  /** Its time, a space, and what was written, with its newline if it ends the line. */
  readonly bytes: Buffer;
  /** Where what was written begins. */
  readonly textAt: number;
}

const newline = 10;
const space = 32;

/** Longest time that an engine puts before an entry, with its space. */
export const maxTimeBytes = 40;

/** Whether the entry ends its line. */
export function endsLine({ bytes }: LogEntry): boolean {
  return bytes.at(-1) === newline;
}

/** When it was written: RFC 3339 with nine digits, as the engine says it. */
export function timeOf({ bytes, textAt }: LogEntry): string {
  return bytes.toString("latin1", 0, textAt - 1);
}

/** Finds where an entry's time ends. @throws Error if it has none */
export function parseLogEntry(bytes: Buffer): LogEntry {
  const at = bytes.subarray(0, maxTimeBytes).indexOf(space);
  if (at <= 0) throw new Error(`the engine's log has an entry without a time: ${JSON.stringify(bytes.toString("utf8", 0, 60))}`);
  return { bytes, textAt: at + 1 };
}
