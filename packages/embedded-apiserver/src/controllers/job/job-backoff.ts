import { finishedMs, type JobPod } from "./job-pods.ts";

/** Failures of a Job's pods since the last success. */
export interface Backoff {
  readonly failures: number;
  /** Time of the last failure in milliseconds since the epoch. */
  readonly lastFailureMs: number | undefined;
}

export const noBackoff: Backoff = { failures: 0, lastFailureMs: undefined };

/** Source: Kubernetes v1.36.3 pkg/controller/job/job_controller.go, `DefaultJobPodFailureBackOff` and `MaxJobPodFailureBackOff`. */
const firstDelayMs = 10_000;
const longestDelayMs = 600_000;

/** Adds newly finished pods. Source: Kubernetes v1.36.3 pkg/controller/job/backoff_utils.go. */
export function nextBackoff(before: Backoff, succeeded: readonly JobPod[], failed: readonly JobPod[]): Backoff {
  const failedMs = failed.map(finishedMs);
  if (succeeded.length === 0)
    return failed.length === 0 ? before : { failures: before.failures + failed.length, lastFailureMs: Math.max(...failedMs) };
  const lastSuccessMs = Math.max(...succeeded.map(finishedMs));
  const later = failedMs.filter((ms) => ms > lastSuccessMs);
  return later.length === 0 ? noBackoff : { failures: later.length, lastFailureMs: Math.max(...later) };
}

/** Remaining delay before the next pod is created, in milliseconds. The delay starts at ten seconds and doubles. */
export function backoffMs({ failures, lastFailureMs }: Backoff, nowMs: number): number {
  if (failures === 0 || lastFailureMs === undefined) return 0;
  const delayMs = Math.min(firstDelayMs * 2 ** (failures - 1), longestDelayMs);
  return Math.max(0, lastFailureMs + delayMs - nowMs);
}
