/** What decides whether the virtual node of a node that the back end no longer has is removed. */
export interface Absence {
  /** Since when the lists of the back end lack the node, on a monotonic clock; `undefined` while the last one has it, or before the first. */
  readonly absentSinceMs: number | undefined;
  /** Whether pods on the virtual node keep it. */
  readonly keepsPods: boolean;
  /** Whether it is being removed. */
  readonly isRemoved: boolean;
}

/** Interval at which it is looked whether the last pods have left, in milliseconds. */
const podsIntervalMs = 10_000;

/** Whether the node may be removed as soon as a new list of the back end confirms that it is gone. */
export function isRemovable({ absentSinceMs, keepsPods, isRemoved }: Absence, graceMs: number, nowMs: number): boolean {
  return absentSinceMs !== undefined && !keepsPods && !isRemoved && nowMs - absentSinceMs >= graceMs;
}

/** Time until one of the nodes can become removable, in milliseconds; `Infinity` if none is absent. */
export function nextLookMs(absences: Iterable<Absence>, graceMs: number, nowMs: number): number {
  let next = Infinity;
  for (const { absentSinceMs, isRemoved } of absences) {
    if (absentSinceMs === undefined || isRemoved) continue;
    next = Math.min(next, Math.max(podsIntervalMs, absentSinceMs + graceMs - nowMs));
  }
  return next;
}
