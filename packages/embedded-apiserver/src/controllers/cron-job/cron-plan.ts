import type { CronSchedule } from "../../kinds/batch/cron-schedule.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/controller/cronjob/utils.go. */

/** The server's clock and others may differ a little. Source: `nextScheduleDelta`. */
const paddingMs = 100;
const manyMissed = 100;

/** When a CronJob is due. */
export interface Due {
  /** The latest time it should have run and has not, in milliseconds since the epoch. */
  readonly dueMs: number | undefined;
  /** Whether it has missed so many that somebody should know. */
  readonly isFarBehind: boolean;
}

/**
 * @param sinceMs - when it ran last, or was created
 * @param deadlineMs - how late it may run, if that is limited
 */
export function dueTime(schedule: CronSchedule, sinceMs: number, deadlineMs: number | undefined, nowMs: number): Due {
  const earliestMs = deadlineMs === undefined ? sinceMs : Math.max(sinceMs, nowMs - deadlineMs);
  let dueMs: number | undefined;
  let missed = 0;
  let next = schedule.next(earliestMs);
  while (next !== undefined && next <= nowMs) {
    dueMs = next;
    missed++;
    // Far behind, what matters is the last time only.
    if (missed === manyMissed * 10) return { dueMs: lastBefore(schedule, next, nowMs), isFarBehind: true };
    next = schedule.next(next);
  }
  return { dueMs, isFarBehind: missed > manyMissed };
}

function lastBefore(schedule: CronSchedule, fromMs: number, nowMs: number): number {
  const stepMs = (schedule.next(fromMs) ?? nowMs) - fromMs;
  let last = fromMs;
  const start = Math.max(fromMs, nowMs - 2 * stepMs);
  for (let next = schedule.next(start); next !== undefined && next <= nowMs; next = schedule.next(next)) last = next;
  return last;
}

/** After how many milliseconds to look again. */
export function nextLookMs(schedule: CronSchedule, nowMs: number): number | undefined {
  const next = schedule.next(nowMs);
  return next === undefined ? undefined : next + paddingMs - nowMs;
}
