import { globSync, readFileSync } from "node:fs";

/** Pauses of one event loop, as `pause-recorder.mjs` writes them. */
interface PauseRecord {
  /** Start of the first bin, in milliseconds of the Unix epoch. */
  readonly startMs: number;
  readonly binMs: number;
  /** Longest pause that ended in each bin, in milliseconds; 0: none did, because a longer one was going on. */
  readonly longestMs: readonly number[];
}

/** Reads the records of all event loops of a program. @throws Error if there is none */
export function readPauses(prefix: string): PauseRecord[] {
  const files = globSync(`${prefix}.*.*.json`);
  if (files.length === 0) throw new Error(`${prefix}.*: no event loop has recorded its pauses; expected a file at the program's end`);
  return files.map((file) => JSON.parse(readFileSync(file, "utf8")) as PauseRecord);
}

/**
 * Returns the longest pause of any of the loops in each whole bin of a window, in milliseconds with one digit. What ended after the window, such as
 * the pause of a program that is being stopped, does not count.
 *
 * @param window - in milliseconds of the Unix epoch
 */
export function pausesIn(
  records: readonly PauseRecord[],
  { fromMs, toMs, binMs }: { readonly fromMs: number; readonly toMs: number; readonly binMs: number },
): number[] {
  const longest = Array.from({ length: Math.floor((toMs - fromMs) / binMs) }, () => 0);
  for (const record of records) {
    for (const [index, ms] of record.longestMs.entries()) {
      if (record.startMs + (index + 1) * record.binMs > toMs) break;
      const bin = Math.floor((record.startMs + index * record.binMs - fromMs) / binMs);
      const before = longest[bin];
      if (before !== undefined) longest[bin] = Math.max(before, Math.round(ms * 10) / 10);
    }
  }
  return longest;
}
