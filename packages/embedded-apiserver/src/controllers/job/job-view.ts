import type { ApiObject } from "../../kinds/kind.ts";
import { isIndexed, type JobSpec, type JobStatus } from "../../kinds/batch/batch-fields.ts";
import { parseIndexes } from "../../kinds/batch/job-indexes.ts";
import { isActive, isReady, isTerminating } from "../shared/pod-state.ts";
import { judgeFailure } from "./job-failure-policy.ts";
import { completionIndexOf, earlierFailures, finishedMs, hasFailed, isTracked, type JobPod } from "./job-pods.ts";

/** Results of an indexed Job, by index. */
interface IndexView {
  /** Indexes that succeeded according to the status. */
  readonly counted: ReadonlySet<number>;
  /** Indexes that succeeded, including those not yet in the status. */
  readonly succeeded: ReadonlySet<number>;
  /** Indexes that failed permanently; `undefined` without `backoffLimitPerIndex`. */
  readonly failed: ReadonlySet<number> | undefined;
  /** Failed pods that are kept until their replacement exists, because it inherits their failure count. */
  readonly kept: ReadonlyMap<number, JobPod>;
}

/** A Job with its pods and the state derived from them. */
export interface JobView {
  readonly job: Readonly<ApiObject>;
  readonly spec: JobSpec;
  readonly status: JobStatus;
  readonly pods: readonly JobPod[];
  readonly active: readonly JobPod[];
  readonly ready: number;
  readonly terminating: number;
  /** Pods that have finished since the status was written. */
  readonly newSucceeded: readonly JobPod[];
  readonly newFailed: readonly JobPod[];
  /** Total numbers of succeeded and failed pods. */
  readonly succeeded: number;
  readonly failed: number;
  readonly indexes: IndexView | undefined;
}

/** Source: Kubernetes v1.36.3 pkg/controller/job/job_controller.go, syncJob. */
export function viewJob(job: Readonly<ApiObject>, pods: readonly JobPod[]): JobView {
  const spec: JobSpec = job["spec"];
  const status: JobStatus = job["status"];
  const { succeeded: uncountedSucceeded = [], failed: uncountedFailed = [] } = status.uncountedTerminatedPods ?? {};
  const active = pods.filter(isActive);
  const fresh = pods.filter((pod) => isTracked(pod) && (!isIndexed(spec) || isValidIndex(pod, spec)));
  const newSucceeded = fresh.filter((pod) => pod["status"].phase === "Succeeded" && !uncountedSucceeded.includes(pod.metadata.uid));
  const newFailed = fresh.filter((pod) => hasFailed(pod, spec) && !uncountedFailed.includes(pod.metadata.uid));
  const indexes = isIndexed(spec) ? viewIndexes({ spec, status, pods, active }) : undefined;
  return {
    job,
    spec,
    status,
    pods,
    active,
    ready: active.filter(isReady).length,
    terminating: pods.filter(isTerminating).length,
    newSucceeded,
    newFailed,
    succeeded: indexes?.succeeded.size ?? (status.succeeded ?? 0) + newSucceeded.length + uncountedSucceeded.length,
    failed: (status.failed ?? 0) + newFailed.filter((pod) => judgeFailure(spec, pod).isCounted).length + uncountedFailed.length,
    indexes,
  };
}

/** Whether the pod's index is within the Job's completions. */
export function isValidIndex(pod: JobPod, { completions = 0 }: JobSpec): boolean {
  return (completionIndexOf(pod) ?? completions) < completions;
}

function viewIndexes({ spec, status, pods, active }: Pick<JobView, "spec" | "status" | "pods" | "active">): IndexView {
  const { completions = 0, backoffLimitPerIndex } = spec;
  const tracked = pods.filter((pod) => isTracked(pod) && isValidIndex(pod, spec));
  const indexesOf = (some: readonly JobPod[]): number[] => some.map(completionIndexOf).filter((index) => index !== undefined);
  const counted = parseIndexes(status.completedIndexes, completions);
  const succeeded = new Set([...counted, ...indexesOf(tracked.filter((pod) => pod["status"].phase === "Succeeded"))]);
  if (backoffLimitPerIndex === undefined) return { counted, succeeded, failed: undefined, kept: new Map() };
  const failed = new Set([
    ...parseIndexes(status.failedIndexes, completions),
    ...indexesOf(tracked.filter((pod) => failsIndex(pod, spec, backoffLimitPerIndex))),
  ]);
  const settled = new Set([...succeeded, ...failed, ...indexesOf(active)]);
  return {
    counted,
    succeeded,
    failed,
    kept: keptPods(
      tracked.filter((pod) => hasFailed(pod, spec)),
      settled,
    ),
  };
}

function failsIndex(pod: JobPod, spec: JobSpec, limit: number): boolean {
  if (!hasFailed(pod, spec)) return false;
  const { isCounted, failsIndex = false } = judgeFailure(spec, pod);
  return failsIndex || (isCounted && earlierFailures(pod).counted >= limit);
}

/** Returns the latest failed pod of each index that has no result yet. */
function keptPods(failed: readonly JobPod[], settled: ReadonlySet<number>): ReadonlyMap<number, JobPod> {
  const kept = new Map<number, JobPod>();
  const failures = (pod: JobPod): number => earlierFailures(pod).counted + earlierFailures(pod).ignored;
  for (const pod of failed) {
    const index = completionIndexOf(pod);
    if (index === undefined || settled.has(index)) continue;
    const other = kept.get(index);
    if (other === undefined || (failures(other) <= failures(pod) && finishedMs(pod) >= finishedMs(other))) kept.set(index, pod);
  }
  return kept;
}
