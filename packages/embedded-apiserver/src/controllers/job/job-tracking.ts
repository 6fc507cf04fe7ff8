import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { JobCondition, JobStatus } from "../../kinds/batch/batch-fields.ts";
import { formatIndexes } from "../../kinds/batch/job-indexes.ts";
import { judgeFailure } from "./job-failure-policy.ts";
import { jobCondition } from "./job-outcome.ts";
import { completionIndexOf, hasFailed, isTracked, type JobPod } from "./job-pods.ts";
import { isValidIndex, type JobView } from "./job-view.ts";

/**
 * One step of counting finished pods. It has two phases, so that a crash neither loses a pod nor counts it twice: first the pods' UIDs are
 * written to the status; then, after their finalizers are removed, they move to the counters.
 *
 * Source of this file: Kubernetes v1.36.3 pkg/controller/job/job_controller.go, trackJobStatusAndRemoveFinalizers.
 */
export interface Tracking {
  /** Status to write before any finalizer is removed. */
  readonly status: JobStatus;
  /** Pods whose finalizers are removed after the status is written. */
  readonly release: readonly JobPod[];
  /** Condition that finishes the Job once all pods are counted. */
  readonly end: JobCondition | undefined;
}

const maxUncounted = 500;

/**
 * @param status - current status with the new pod counts
 * @param outcome - outcome of the Job, if it is known
 */
export function trackPods(view: JobView, status: JobStatus, outcome: JobCondition | undefined, nowMs: number): Tracking {
  const counted = countReleased(status, view.pods);
  const { succeeded = [], failed = [] } = counted.uncountedTerminatedPods ?? {};
  const newSucceeded: string[] = [];
  const newFailed: string[] = [];
  const newIndexes: number[] = [];
  const release: JobPod[] = [];
  let isFull = false;
  for (const pod of byIndex(view)) {
    if (!isTracked(pod) || !mayRelease(view, pod, outcome)) continue;
    release.push(pod);
    const { uid } = pod.metadata;
    if (pod["status"].phase === "Succeeded" && !failed.includes(uid)) {
      const index = completionIndexOf(pod);
      if (view.indexes === undefined) newSucceeded.push(...(succeeded.includes(uid) ? [] : [uid]));
      else if (index !== undefined && isValidIndex(pod, view.spec)) newIndexes.push(index);
    } else if (countsAsFailed(view, pod, outcome) && !failed.includes(uid)) newFailed.push(uid);
    isFull = newIndexes.length + newSucceeded.length + newFailed.length + succeeded.length + failed.length >= maxUncounted;
    if (isFull) break;
  }
  const { conditions, end } = withOutcome(counted.conditions ?? [], outcome, nowMs);
  return {
    status: {
      ...counted,
      ...indexStatus(view, newIndexes),
      ...(conditions.length > 0 ? { conditions } : {}),
      uncountedTerminatedPods: uncounted([...succeeded, ...newSucceeded], [...failed, ...newFailed]),
    },
    release,
    end: isFull ? undefined : end,
  };
}

function byIndex({ pods, indexes }: JobView): readonly JobPod[] {
  return indexes === undefined ? pods : pods.toSorted((a, b) => (completionIndexOf(a) ?? -1) - (completionIndexOf(b) ?? -1));
}

function mayRelease({ job, spec, indexes }: JobView, pod: JobPod, outcome: JobCondition | undefined): boolean {
  if (job.metadata.deletionTimestamp !== undefined || outcome !== undefined || pod["status"].phase === "Succeeded") return true;
  const index = completionIndexOf(pod);
  return hasFailed(pod, spec) && (index === undefined || indexes?.kept.get(index) !== pod);
}

/** Pods that are still active when the Job fails count as failed. */
function countsAsFailed({ spec, indexes }: JobView, pod: JobPod, outcome: JobCondition | undefined): boolean {
  const isFailure = hasFailed(pod, spec) || (outcome !== undefined && outcome.type !== "SuccessCriteriaMet");
  return isFailure && (indexes === undefined || isValidIndex(pod, spec)) && judgeFailure(spec, pod).isCounted;
}

function indexStatus({ indexes }: JobView, newIndexes: readonly number[]): Partial<JobStatus> {
  if (indexes === undefined) return {};
  const all = new Set([...indexes.succeeded, ...newIndexes]);
  return {
    succeeded: all.size,
    completedIndexes: formatIndexes(all),
    ...(indexes.failed === undefined ? {} : { failedIndexes: formatIndexes(indexes.failed) }),
  };
}

function withOutcome(
  conditions: readonly JobCondition[],
  outcome: JobCondition | undefined,
  nowMs: number,
): { readonly conditions: JobCondition[]; readonly end: JobCondition | undefined } {
  if (outcome === undefined || outcome.type === "Failed") return { conditions: [...conditions], end: outcome };
  const isKnown = conditions.some(({ type, status }) => type === outcome.type && status === "True");
  const type = outcome.type === "FailureTarget" ? "Failed" : "Complete";
  return {
    conditions: isKnown ? [...conditions] : [...conditions, outcome],
    end: jobCondition(type, outcome.reason ?? "", outcome.message ?? "", nowMs),
  };
}

function uncounted(succeeded: string[], failed: string[]): NonNullable<JobStatus["uncountedTerminatedPods"]> {
  return { ...(succeeded.length > 0 ? { succeeded } : {}), ...(failed.length > 0 ? { failed } : {}) };
}

/** Moves pods without a finalizer from the uncounted list to the counters. */
export function countReleased(status: JobStatus, pods: readonly JobPod[]): JobStatus {
  const tracked = new Set(pods.filter(isTracked).map(({ metadata }) => metadata.uid));
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const [keptSucceeded, keptFailed] = [succeeded.filter((uid) => tracked.has(uid)), failed.filter((uid) => tracked.has(uid))];
  return {
    ...status,
    succeeded: (status.succeeded ?? 0) + succeeded.length - keptSucceeded.length,
    failed: (status.failed ?? 0) + failed.length - keptFailed.length,
    uncountedTerminatedPods: uncounted(keptSucceeded, keptFailed),
  };
}

/** Finishes the Job if every pod is counted and none is terminating; `undefined` if it cannot finish yet. */
export function ended(status: JobStatus, end: JobCondition | undefined, nowMs: number): JobStatus | undefined {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  if (end === undefined || succeeded.length + failed.length > 0 || (status.terminating ?? 0) > 0) return undefined;
  return {
    ...status,
    conditions: [...(status.conditions ?? []).filter(({ type }) => type !== end.type), end],
    ...(end.type === "Complete" ? { completionTime: rfc3339(nowMs) } : {}),
  };
}
