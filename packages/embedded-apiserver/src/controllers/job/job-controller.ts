import { rfc3339, selectsLabels } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { isJobFinished, type JobCondition, type JobSpec, type JobStatus } from "../../kinds/batch/batch-fields.ts";
import { trackingFinalizer } from "../../kinds/batch/job-labels.ts";
import { jobKind } from "../../kinds/batch/job.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { claimObjects } from "../shared/claim-objects.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import type { EventText } from "../shared/event-recorder.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { controllerOf } from "../shared/ownership.ts";
import { createPods, deletePod } from "../shared/pod-control.ts";
import { isReady } from "../shared/pod-state.ts";
import { replaceStatus } from "../shared/status-write.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import { type Backoff, nextBackoff, noBackoff } from "./job-backoff.ts";
import { completion, deadlineInMs, jobCondition, outcomeOf } from "./job-outcome.ts";
import { jobPodChanges } from "./job-pod-changes.ts";
import { isTracked, type JobPod, withoutTracking } from "./job-pods.ts";
import { jobPod } from "./job-template.ts";
import { countReleased, ended, trackPods } from "./job-tracking.ts";
import { type JobView, viewJob } from "./job-view.ts";

const component = "job-controller";
/** Jobs with another `managedBy` are ignored. */
const ownName = "kubernetes.io/job-controller";

const orphansOf = (namespace: string | undefined): string => `orphans/${namespace ?? ""}`;

/** Numbers of pods after the changes are made. */
interface Counts {
  readonly active: number;
  readonly ready: number;
  readonly terminating: number;
}

/**
 * Runs the pods of Jobs to completion.
 * Source: Kubernetes v1.36.3 pkg/controller/job/job_controller.go.
 */
export function startJobController(context: ControllerContext): Disposable {
  const { cluster, clock, events } = context;
  const resources = new Disposables();
  const backoffs = new Map<string, Backoff>();
  const pods = resources.use(new ObjectIndex(cluster, podKind, (pod) => [controllerOf(pod)?.uid ?? orphansOf(pod.metadata.namespace)]));
  const jobs = resources.use(new ObjectIndex(cluster, jobKind, ({ metadata }) => [metadata.uid, `in/${metadata.namespace}`]));
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  const orphans = resources.use(createWorkQueue({ ...context, process: releaseOrphan }));
  resources.use(
    cluster.watch(jobKind, ({ type, object }) => {
      if (type !== "DELETED") queue.add(keyOf(object));
      else backoffs.delete(object.metadata.uid);
      if (type === "DELETED" || isJobFinished(object["status"]))
        for (const pod of pods.get(object.metadata.uid)) if (isTracked(pod)) orphans.add(keyOf(pod));
    }),
  );
  resources.use(cluster.watch(podKind, ({ object }) => wake(object)));
  for (const job of cluster.list(jobKind)) queue.add(keyOf(job));
  for (const pod of cluster.list(podKind)) wake(pod);
  return resources;

  function wake(pod: JobPod): void {
    const owner = controllerOf(pod);
    const candidates = owner === undefined ? jobs.get(`in/${pod.metadata.namespace}`) : jobs.get(owner.uid);
    for (const job of candidates)
      if (owner !== undefined || selectsLabels(job["spec"].selector, pod.metadata.labels)) queue.add(keyOf(job));
    if (isTracked(pod)) orphans.add(keyOf(pod));
  }

  /** Removes the finalizer of a pod whose Job is gone. */
  function releaseOrphan(key: string): void {
    const { namespace, name } = parseKey(key);
    const pod = cluster.get(podKind, namespace, name);
    if (pod === undefined || !isTracked(pod)) return;
    const owner = controllerOf(pod);
    if (owner !== undefined && (owner.kind !== jobKind.kind || owner.apiVersion !== "batch/v1")) return;
    const candidates = owner === undefined ? jobs.get(`in/${namespace}`) : jobs.get(owner.uid);
    const isWanted = candidates.some(
      (job) =>
        isManagedElsewhere(job) ||
        (!isJobFinished(job["status"]) && (owner !== undefined || selectsLabels(job["spec"].selector, pod.metadata.labels))),
    );
    if (!isWanted) cluster.update(podKind, namespace, name, withoutTracking);
  }

  function sync(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const job = cluster.get(jobKind, namespace, name);
    if (job === undefined || isManagedElsewhere(job)) return undefined;
    if (isJobFinished(job["status"])) {
      backoffs.delete(job.metadata.uid);
      return undefined;
    }
    const view = viewJob(started(job), claim(job));
    const backoff = nextBackoff(backoffs.get(job.metadata.uid) ?? noBackoff, view.newSucceeded, view.newFailed);
    const outcome = outcomeOf(view, clock.now());
    if (outcome !== undefined) return conclude(view, removeActive(view), outcome);
    const changes = job.metadata.deletionTimestamp === undefined ? jobPodChanges(view, backoff, clock.now()) : { remove: [], create: [] };
    for (const pod of changes.remove) removePod(view, pod);
    const { created, failure } = createPods(
      context,
      { component, owner: view.job },
      changes.create.map((index) => jobPod(view.job, index, index === undefined ? undefined : view.indexes?.kept.get(index))),
    );
    const counts = countsAfter(view, changes.remove, created);
    const isComplete = counts.active === 0 && hasSucceeded(view);
    conclude(view, counts, isComplete ? completion(clock.now()) : undefined);
    if (failure === undefined) backoffs.set(job.metadata.uid, backoff);
    else throw failure;
    return earliest(changes.waitMs, deadlineInMs(view, clock.now()));
  }

  /** Sets the start time of a Job that is not suspended. */
  function started(job: Readonly<ApiObject>): Readonly<ApiObject> {
    const status: JobStatus = job["status"];
    if (status.startTime !== undefined || job["spec"].suspend === true) return job;
    return { ...job, status: { ...status, startTime: rfc3339(clock.now()) } };
  }

  function claim(job: Readonly<ApiObject>): JobPod[] {
    return claimObjects(cluster, {
      owner: job,
      ownerKind: jobKind,
      kind: podKind,
      owned: pods.get(job.metadata.uid),
      orphans: pods.get(orphansOf(job.metadata.namespace)),
      canChange: ({ metadata }) => metadata.deletionTimestamp === undefined,
      finalizer: trackingFinalizer,
    });
  }

  function removePod({ job }: JobView, pod: JobPod): void {
    const { namespace, name } = pod.metadata;
    cluster.update(podKind, namespace, name, withoutTracking);
    deletePod(context, { component, owner: job }, pod);
  }

  /** Deletes the active pods of a Job whose outcome is known. They are counted later. */
  function removeActive(view: JobView): Counts {
    for (const pod of view.active) deletePod(context, { component, owner: view.job }, pod);
    return countsAfter(view, view.active, 0);
  }

  /** Writes the status, removes the finalizers of the counted pods, and finishes the Job when all pods are counted. */
  function conclude(view: JobView, counts: Counts, outcome: JobCondition | undefined): undefined {
    const nowMs = clock.now();
    const base = outcome === undefined ? withSuspension(view) : view.status;
    const tracking = trackPods(view, { ...base, ...counts }, outcome, nowMs);
    replaceStatus(cluster, jobKind, view.job, withoutZeros(tracking.status));
    for (const { metadata } of tracking.release) cluster.update(podKind, metadata.namespace, metadata.name, withoutTracking);
    const counted = countReleased(tracking.status, pods.get(view.job.metadata.uid));
    const last = ended(counted, tracking.end, nowMs);
    replaceStatus(cluster, jobKind, view.job, withoutZeros(last ?? counted));
    if (last !== undefined && tracking.end !== undefined)
      for (const event of endEvents(view.spec, last, tracking.end)) events.record(component, view.job, event);
  }

  function withSuspension({ job, spec, status }: JobView): JobStatus {
    const { conditions = [] } = status;
    const known = conditions.find(({ type }) => type === "Suspended");
    const isSuspended = spec.suspend === true;
    if (job.metadata.deletionTimestamp !== undefined || (known?.status === "True") === isSuspended) return status;
    const [reason, message] = isSuspended ? ["JobSuspended", "Job suspended"] : ["JobResumed", "Job resumed"];
    const condition = jobCondition("Suspended", reason, message, clock.now(), isSuspended ? "True" : "False");
    events.record(component, job, { type: "Normal", reason: isSuspended ? "Suspended" : "Resumed", message });
    const { startTime: _before, ...rest } = status;
    return {
      ...rest,
      ...(isSuspended ? {} : { startTime: rfc3339(clock.now()) }),
      conditions: known === undefined ? [...conditions, condition] : conditions.map((other) => (other === known ? condition : other)),
    };
  }
}

function isManagedElsewhere(job: Readonly<ApiObject>): boolean {
  const { managedBy = ownName }: JobSpec = job["spec"];
  return managedBy !== ownName;
}

function hasSucceeded({ spec, succeeded }: JobView): boolean {
  return spec.completions === undefined ? succeeded > 0 : succeeded >= spec.completions;
}

function countsAfter(view: JobView, removed: readonly JobPod[], created: number): Counts {
  return {
    active: view.active.length - removed.length + created,
    ready: view.ready - removed.filter(isReady).length,
    terminating: view.terminating + removed.length,
  };
}

function earliest(...delaysMs: readonly (number | undefined)[]): number | undefined {
  const known = delaysMs.filter((delay) => delay !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

function endEvents({ completions }: JobSpec, { succeeded = 0 }: JobStatus, end: JobCondition): EventText[] {
  const { type, reason = "", message = "" } = end;
  if (type !== "Complete") return [{ type: "Warning", reason, message }];
  const tooMany = "Too many succeeded pods running after completion count reached";
  return [
    ...(completions !== undefined && succeeded > completions
      ? [{ type: "Warning", reason: "TooManySucceededPods", message: tooMany } as const]
      : []),
    { type: "Normal", reason: "Completed", message: "Job completed" },
  ];
}

/** Drops counters that are zero, except those for which zero and absent differ. */
function withoutZeros({ active, succeeded, failed, completedIndexes, ...rest }: JobStatus): JobStatus {
  return {
    ...rest,
    ...(active ? { active } : {}),
    ...(succeeded ? { succeeded } : {}),
    ...(failed ? { failed } : {}),
    ...(completedIndexes ? { completedIndexes } : {}),
  };
}
