/** How long until the next list. */
export interface PollSituation {
  /** Milliseconds between two lists when nothing happens. */
  readonly intervalMs: number;
  /** Lists in a row that failed. */
  readonly failures: number;
  /** Lists in a row since something was made, ended or changed. */
  readonly quiet: number;
  /** In [0, 1): where in the jitter. */
  readonly jitter: number;
}

const soonestMs = 1_000;
const slowestMs = 60_000;

/**
 * Milliseconds until the next list: soon while something happens, then twice as long each time up to the interval; after failures
 * twice as long each time up to a minute. A fifth more or less, so that many nodes do not ask at once.
 */
export function pollDelayMs({ intervalMs, failures, quiet, jitter }: PollSituation): number {
  const soonMs = Math.min(soonestMs, intervalMs);
  const plainMs =
    failures > 0
      ? Math.min(Math.max(slowestMs, intervalMs), intervalMs * 2 ** Math.min(failures - 1, 16))
      : Math.min(intervalMs, soonMs * 2 ** Math.min(quiet, 16));
  return Math.round(plainMs * (0.8 + 0.4 * jitter));
}
