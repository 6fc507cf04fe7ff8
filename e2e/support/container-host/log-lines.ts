import { framedEntries, terminalEntries } from "../../../providers/docker/src/logs/log-entries.ts";
import { endsLine, timeOf } from "../../../providers/docker/src/logs/log-entry.ts";
import type { LogLine } from "./container-host.ts";

/**
 * Lines of one stream of an engine's log, which was requested with timestamps. A line longer than 16 KiB has several entries, which are
 * joined.
 */
export async function readLogLines(
  chunks: AsyncIterable<Buffer>,
  { stream, hasTerminal }: { readonly stream: LogLine["stream"]; readonly hasTerminal: boolean },
): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  let time: string | undefined;
  let parts: Buffer[] = [];
  const endLine = (): void => {
    if (time !== undefined) lines.push({ time, stream, text: Buffer.concat(parts).toString("utf8") });
    [time, parts] = [undefined, []];
  };
  for await (const entries of hasTerminal ? terminalEntries(chunks) : framedEntries(chunks))
    for (const entry of entries) {
      time ??= timeOf(entry);
      parts.push(entry.bytes.subarray(entry.textAt));
      if (endsLine(entry)) endLine();
    }
  endLine();
  return lines;
}
