/** One entry of an engine's log: a line, or a part of one longer than 16 KiB. */
export interface LogEntry {
  /** RFC 3339 with nine digits, as the engine writes it. */
  readonly time: string;
  /** What was written, with its newline if it ends the line. */
  readonly text: Buffer;
}

const newline = 10;
const space = 32;

/** Longest time that an engine puts before an entry, with its space. */
export const maxTimeBytes = 40;

/** Whether the entry ends its line. */
export function endsLine({ text }: LogEntry): boolean {
  return text.at(-1) === newline;
}

/** Parts an entry's time from its text. @throws Error if it has none */
export function parseLogEntry(bytes: Buffer): LogEntry {
  const at = bytes.subarray(0, maxTimeBytes).indexOf(space);
  if (at <= 0) throw new Error(`the engine's log has an entry without a time: ${JSON.stringify(bytes.toString("utf8", 0, 60))}`);
  return { time: bytes.toString("latin1", 0, at), text: bytes.subarray(at + 1) };
}
