import { podsToDelete } from "../shared/pod-deletion-order.ts";
import { isTerminating } from "../shared/pod-state.ts";
import { backoffMs, type Backoff } from "./job-backoff.ts";
import { completionIndexOf, earlierFailures, finishedMs, type JobPod, replacesOnlyFailed } from "./job-pods.ts";
import { isValidIndex, type JobView } from "./job-view.ts";

/** Pods of a Job to delete and to create. */
export interface JobPodChanges {
  readonly remove: readonly JobPod[];
  /** Completion index of each pod to create; `undefined` for Jobs without indexes. */
  readonly create: readonly (number | undefined)[];
  /** Milliseconds until the back-off expires, if pods have to wait for it. */
  readonly waitMs?: number;
}

/** Source: Kubernetes v1.36.3 pkg/controller/job/job_controller.go, `MaxPodCreateDeletePerSync`. */
const burst = 500;

/**
 * Computes the changes that bring a Job to its number of pods.
 * Source: Kubernetes v1.36.3 pkg/controller/job/job_controller.go, manageJob.
 */
export function jobPodChanges(view: JobView, backoff: Backoff, nowMs: number): JobPodChanges {
  const { spec, active } = view;
  if (spec.suspend === true) return { remove: active, create: [] };
  const wanted = wantedPods(view);
  const remove = surplusPods(view, active.length - wanted, nowMs);
  if (remove.length > 0) return { remove: remove.slice(0, burst), create: [] };
  const missing = Math.min(wanted - (replacesOnlyFailed(spec) ? view.terminating : 0) - active.length, burst);
  if (missing <= 0) return { remove: [], create: [] };
  if (spec.backoffLimitPerIndex !== undefined) return changesPerIndex(view, missing, nowMs);
  const waitMs = backoffMs(backoff, nowMs);
  if (waitMs > 0) return { remove: [], create: [], waitMs };
  const create = view.indexes === undefined ? Array.from({ length: missing }, () => undefined) : openIndexes(view, missing);
  return { remove: [], create };
}

function wantedPods({ spec: { completions, parallelism = 1 }, succeeded, active }: JobView): number {
  // Without `completions`, no pods are created after the first success.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
}

/** Pods beyond the limit, and duplicates of an index. */
function surplusPods({ spec, active, indexes }: JobView, count: number, nowMs: number): readonly JobPod[] {
  const surplus = new Set<JobPod>();
  if (indexes !== undefined) {
    const byIndex = Map.groupBy(active, (pod) => (isValidIndex(pod, spec) ? completionIndexOf(pod) : undefined));
    for (const [index, pods] of byIndex) {
      const keep = index === undefined ? 0 : 1;
      for (const pod of podsToDelete(pods, active, { count: pods.length - keep, nowMs })) surplus.add(pod);
    }
  }
  const left = active.filter((pod) => !surplus.has(pod));
  return [...surplus, ...podsToDelete(left, active, { count: count - surplus.size, nowMs })];
}

/** Each index has its own back-off. */
function changesPerIndex(view: JobView, missing: number, nowMs: number): JobPodChanges {
  const waits = openIndexes(view, missing).map((index) => ({ index, waitMs: indexBackoffMs(view.indexes?.kept.get(index), nowMs) }));
  const create = waits.filter(({ waitMs }) => waitMs === 0).map(({ index }) => index);
  if (create.length > 0 || waits.length === 0) return { remove: [], create };
  return { remove: [], create: [], waitMs: Math.min(...waits.map(({ waitMs }) => waitMs)) };
}

function indexBackoffMs(failed: JobPod | undefined, nowMs: number): number {
  if (failed === undefined) return 0;
  const { counted, ignored } = earlierFailures(failed);
  return backoffMs({ failures: counted + ignored + 1, lastFailureMs: finishedMs(failed) }, nowMs);
}

/** Lowest indexes without a result and without a pod. */
function openIndexes({ spec, pods, active, indexes }: JobView, count: number): number[] {
  const occupied = replacesOnlyFailed(spec) ? [...active, ...pods.filter(isTerminating)] : active;
  const taken = new Set(occupied.map(completionIndexOf));
  const open: number[] = [];
  for (let index = 0; index < (spec.completions ?? 0) && open.length < count; index++)
    if (!taken.has(index) && indexes?.succeeded.has(index) !== true && indexes?.failed?.has(index) !== true) open.push(index);
  return open;
}
