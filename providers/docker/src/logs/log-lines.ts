import { endsLine, timeOf, type LogEntry } from "./log-entry.ts";
import { engineTime, isEarlier } from "./log-request.ts";

/** Approximate size of a batch of lines, in bytes. */
const batchBytes = 65_536;

/**
 * Joins entries to lines, each with its time. If entries of the other stream lie between the parts of a long line, their text does, too, as
 * in a kubelet's logs.
 *
 * Source: kubernetes v1.36.3 k8s.io/cri-client/pkg/logs `ReadLogs`.
 */
export async function* logLines(batches: AsyncIterable<readonly LogEntry[]>): AsyncGenerator<Buffer, void, undefined> {
  let isAtStart = true;
  for await (const batch of batches) {
    let pieces: Buffer[] = [];
    let bytes = 0;
    for (const entry of batch) {
      pieces.push(isAtStart ? entry.bytes : entry.bytes.subarray(entry.textAt));
      isAtStart = endsLine(entry);
      bytes += entry.bytes.length;
      if (bytes < batchBytes) continue;
      yield Buffer.concat(pieces);
      [pieces, bytes] = [[], 0];
    }
    if (pieces.length > 0) yield Buffer.concat(pieces);
  }
}

/** Lines that start at the time or later; RFC 3339. A line that starts earlier is left out completely. */
export async function* linesSince(
  batches: AsyncIterable<readonly LogEntry[]>,
  sinceTime: string | undefined,
): AsyncGenerator<readonly LogEntry[], void, undefined> {
  if (sinceTime === undefined) return yield* batches;
  const since = engineTime(sinceTime);
  let isAtStart = true;
  let isDue = false;
  for await (const batch of batches) {
    if (isDue) {
      yield batch;
      continue;
    }
    const first = batch.findIndex((entry) => {
      isDue = isAtStart && !isEarlier(engineTime(timeOf(entry)), since);
      isAtStart = endsLine(entry);
      return isDue;
    });
    if (first >= 0) yield batch.slice(first);
  }
}
