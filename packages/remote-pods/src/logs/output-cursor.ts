/** Circumstances of a snapshot. */
export interface SnapshotContext {
  /** Whether lines before the snapshot may have been left out because only the last ones were asked for. */
  readonly isLimited: boolean;
  /** Whether the container had ended before the snapshot was read, so that no other follows. */
  readonly isLast: boolean;
  /** Whether another instance of the container runs than at the previous snapshot. `undefined`: not known. */
  readonly hasRestarted: boolean | undefined;
}

/** Position in a container's output, which is seen as snapshots only. */
export interface OutputCursor {
  /**
   * Moves to the end of a snapshot.
   *
   * @returns the output since the previous position; `undefined` if the snapshot does not reach back to it and {@link SnapshotContext.isLimited}:
   * the position is unchanged, and a snapshot with more lines is needed
   */
  advance(text: string, context: SnapshotContext): string | undefined;
}

/** Written where the back end no longer has the output between two snapshots. */
export const gapText = "[virtual-kubelet: output is missing here, because the back end keeps only its last part]\n";

/**
 * Number of bytes that any back end keeps. A shorter snapshot is the whole output of its instance. The shortest known is that of stopped
 * containers of Azure Container Instances: 16 KB, or 1,000 lines.
 */
const leastKept = 4_096;

/**
 * Whether output was lost before a snapshot that does not reach back to the position. Otherwise the container has begun its output again, which
 * is much shorter then. (A window of so many lines, or of bytes with wide characters, also changes its length, but not by half.)
 *
 * @param seenLength - number of characters of the previous snapshot
 */
export function wasOutputLost(text: string, seenLength: number, { isLast, hasRestarted }: SnapshotContext): boolean {
  return hasRestarted !== true && (isLast || text.length * 2 >= seenLength) && Buffer.byteLength(text) >= leastKept;
}

/** Returns a text without a character at its end that was cut between its bytes; the next snapshot has it as a whole. */
export function withoutCutEnd(text: string): string {
  return text.replace(/(?:\uFFFD{1,3}|[\uD800-\uDBFF])$/, "");
}
