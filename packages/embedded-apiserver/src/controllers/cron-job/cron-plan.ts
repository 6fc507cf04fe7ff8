import type { CronSchedule } from "../../kinds/batch/cron-schedule.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/controller/cronjob/utils.go. */

/** Tolerance for clock skew. Source: `nextScheduleDelta`. */
const paddingMs = 100;
const manyMissed = 100;

export interface Due {
  /** Latest scheduled time that has passed without a run, in milliseconds since the epoch; `undefined` if there is none. */
  readonly dueMs: number | undefined;
  /** Whether so many runs were missed that a warning event is due. */
  readonly isFarBehind: boolean;
}

/**
 * Returns the latest missed run of a schedule.
 *
 * @param sinceMs - time of the last run, or of creation
 * @param deadlineMs - how late a run may start; default: no limit
 */
export function dueTime(schedule: CronSchedule, sinceMs: number, deadlineMs: number | undefined, nowMs: number): Due {
  const earliestMs = deadlineMs === undefined ? sinceMs : Math.max(sinceMs, nowMs - deadlineMs);
  let dueMs: number | undefined;
  let missed = 0;
  let next = schedule.next(earliestMs);
  while (next !== undefined && next <= nowMs) {
    dueMs = next;
    missed++;
    // Counting every missed run would take too long; only the latest one matters.
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

/** Milliseconds until the next scheduled time; `undefined` if there is none. */
export function nextLookMs(schedule: CronSchedule, nowMs: number): number | undefined {
  const next = schedule.next(nowMs);
  return next === undefined ? undefined : next + paddingMs - nowMs;
}
