/**
 * The index to ask a blocking query for next: the one that was returned, or none where it went back, as it does when a
 * cluster is restored from a backup or built anew. Indexes mean nothing else.
 *
 * @param last - what was asked for; `undefined` at first
 * @returns `undefined`: ask for all, without waiting
 */
export function nextBlockingIndex(last: number | undefined, returned: number): number | undefined {
  if (last !== undefined && returned < last) return undefined;
  return Math.max(1, returned);
}
