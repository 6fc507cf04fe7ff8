import { FrameDecoder } from "../engine/frame-decoder.ts";
import { maxTimeBytes, parseLogEntry, type LogEntry } from "./log-entry.ts";

/** Maximum bytes of text in one entry of Docker's log. Longer lines have several entries. Source: moby v20.10 daemon/logger. */
const entryTextBytes = 16_384;

/** Maximum length of an entry; longer ones are malformed. */
const maxEntryBytes = 1024 * 1024;

const newline = 10;
const space = 32;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) /;

/**
 * Parses a log with frames, one entry per frame, and batches entries by chunk. @throws Error with the engine's message if it aborts the log
 */
export async function* framedEntries(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly LogEntry[], void, undefined> {
  const decoder = new FrameDecoder();
  let begun: Buffer[] = [];
  let begunBytes = 0;
  for await (const chunk of chunks) {
    const entries: LogEntry[] = [];
    for (const { stream, bytes, endsFrame } of decoder.push(chunk)) {
      begun.push(bytes);
      begunBytes += bytes.length;
      requireSane(begunBytes);
      if (!endsFrame) continue;
      const frame = begun.length === 1 ? bytes : Buffer.concat(begun);
      [begun, begunBytes] = [[], 0];
      if (stream === "system") throw new Error(frame.toString("utf8").trim());
      entries.push(parseLogEntry(frame));
    }
    if (entries.length > 0) yield entries;
  }
  decoder.end();
}

/** Parses a terminal's log, which has no frames: an entry ends with its line, or when it is full. */
export async function* terminalEntries(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly LogEntry[], void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  const take = (isLast: boolean): LogEntry[] => {
    const entries: LogEntry[] = [];
    for (let end = entryEnd(rest, isLast); end !== undefined; end = entryEnd(rest, isLast)) {
      entries.push(parseLogEntry(rest.subarray(0, end)));
      rest = rest.subarray(end);
    }
    return entries;
  };
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const entries = take(false);
    requireSane(rest.length);
    if (entries.length > 0) yield entries;
  }
  const last = take(true);
  if (last.length > 0) yield last;
}

/** End of the first entry; `undefined` if there is none, or more bytes are needed. */
function entryEnd(bytes: Buffer, isLast: boolean): number | undefined {
  if (bytes.length === 0) return undefined;
  const textAt = bytes.subarray(0, maxTimeBytes).indexOf(space) + 1;
  if (textAt === 0 && !isLast && bytes.length < maxTimeBytes) return undefined;
  const fullAt = textAt + entryTextBytes;
  const lineEnd = bytes.indexOf(newline, textAt) + 1;
  if (lineEnd > 0 && lineEnd <= fullAt + 1) return lineEnd;
  if (bytes.length < fullAt + maxTimeBytes && !isLast) return undefined;
  // After a full entry, the rest of its line follows with its own time.
  if (timePattern.test(bytes.toString("latin1", fullAt, fullAt + maxTimeBytes))) return fullAt;
  return lineEnd > 0 ? lineEnd : isLast ? bytes.length : undefined;
}

function requireSane(bytes: number): void {
  if (bytes > maxEntryBytes) throw new Error(`the engine's log has an entry of more than ${maxEntryBytes} bytes`);
}
