import { WriteWaits } from "../../rest/steps.ts";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { ApiStatusError } from "../../errors/api-status-error.ts";
import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { type CronJobSpec, type CronJobStatus, isJobConditionTrue, isJobFinished, type JobStatus } from "../../kinds/batch/batch-fields.ts";
import { cronJobKind } from "../../kinds/batch/cron-job.ts";
import { parseSchedule } from "../../kinds/batch/cron-schedule.ts";
import { jobKind } from "../../kinds/batch/job.ts";
import { isTimeZone, zoneOffsetMs } from "../../kinds/batch/time-zone.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { controllerOf, controllerReference } from "../shared/ownership.ts";
import { isNamespaceTerminating } from "../shared/pod-control.ts";
import { replaceStatus } from "../shared/status-write.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import { dueTime, nextLookMs } from "./cron-plan.ts";

const component = "cronjob-controller";
const scheduledAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";

type Job = Readonly<ApiObject>;

/**
 * Creates a CronJob's Jobs on schedule and deletes finished Jobs beyond the history limits.
 * Source: Kubernetes v1.36.3 pkg/controller/cronjob.
 */
export function startCronJobController(context: ControllerContext): Disposable {
  const { cluster, clock, events } = context;
  const resources = new Disposables();
  const jobs = resources.use(new ObjectIndex(cluster, jobKind, (job) => [controllerOf(job)?.uid ?? "none"]));
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(cluster.watch(cronJobKind, ({ type, object }) => type !== "DELETED" && queue.add(keyOf(object))));
  resources.use(
    cluster.watch(jobKind, ({ object }) => {
      const owner = controllerOf(object);
      if (owner?.kind === cronJobKind.kind) queue.add(keyOf({ metadata: { ...object.metadata, name: owner.name } }));
    }),
  );
  for (const cronJob of cluster.list(cronJobKind)) queue.add(keyOf(cronJob));
  return resources;

  function sync(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const cronJob = cluster.get(cronJobKind, namespace, name);
    if (cronJob === undefined) return undefined;
    trimHistory(cronJob);
    const status = reviewJobs(cronJob);
    if (cronJob.metadata.deletionTimestamp !== undefined || cronJob["spec"].suspend === true) {
      replaceStatus(cluster, cronJobKind, cronJob, status);
      return undefined;
    }
    return runIfDue(cronJob, status);
  }

  /** Removes finished Jobs from the list of active ones. */
  function reviewJobs(cronJob: Readonly<ApiObject>): CronJobStatus {
    const own = jobs.get(cronJob.metadata.uid);
    const { active: before = [], lastSuccessfulTime, lastScheduleTime }: CronJobStatus = cronJob["status"];
    const active = before.filter(({ uid, name }) => {
      const job = own.find(({ metadata }) => metadata.uid === uid);
      if (job === undefined) tell(cronJob, "Normal", "MissingJob", `Active job went missing: ${name ?? ""}`);
      else if (isJobFinished(job["status"]))
        tell(
          cronJob,
          "Normal",
          "SawCompletedJob",
          `Saw completed job: ${name ?? ""}, condition: ${isSuccess(job) ? "Complete" : "Failed"}`,
        );
      return job !== undefined && !isJobFinished(job["status"]);
    });
    const successes = own.filter(isSuccess).map(({ status }) => (status as JobStatus).completionTime ?? "");
    const lastSuccess = [lastSuccessfulTime ?? "", ...successes].toSorted().at(-1);
    return {
      ...(active.length > 0 ? { active } : {}),
      ...(lastScheduleTime === undefined ? {} : { lastScheduleTime }),
      ...(lastSuccess ? { lastSuccessfulTime: lastSuccess } : {}),
    };
  }

  function runIfDue(cronJob: Readonly<ApiObject>, status: CronJobStatus): number | undefined {
    const spec: CronJobSpec = cronJob["spec"];
    const nowMs = clock.now();
    const timeZone = spec.timeZone ?? "UTC";
    if (!isTimeZone(timeZone)) {
      tell(cronJob, "Warning", "UnknownTimeZone", `invalid timeZone: ${JSON.stringify(timeZone)}: unknown time zone ${timeZone}`);
      replaceStatus(cluster, cronJobKind, cronJob, status);
      return undefined;
    }
    const schedule = parseSchedule(spec.schedule, timeZone);
    if (typeof schedule === "string") {
      tell(cronJob, "Warning", "UnparseableSchedule", `unparseable schedule: ${JSON.stringify(spec.schedule)} : ${schedule}`);
      replaceStatus(cluster, cronJobKind, cronJob, status);
      return undefined;
    }
    const sinceMs = Date.parse(status.lastScheduleTime ?? cronJob.metadata.creationTimestamp);
    const deadlineMs = spec.startingDeadlineSeconds === undefined ? undefined : spec.startingDeadlineSeconds * 1000;
    const { dueMs, isFarBehind } = dueTime(schedule, sinceMs, deadlineMs, nowMs);
    if (isFarBehind) {
      const message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
      tell(cronJob, "Warning", "TooManyMissedTimes", message);
    }
    replaceStatus(cluster, cronJobKind, cronJob, dueMs === undefined ? status : run(cronJob, status, dueMs));
    return nextLookMs(schedule, nowMs);
  }

  function run(cronJob: Readonly<ApiObject>, status: CronJobStatus, dueMs: number): CronJobStatus {
    const { concurrencyPolicy }: CronJobSpec = cronJob["spec"];
    let { active = [] } = status;
    if (concurrencyPolicy === "Forbid" && active.length > 0) {
      const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
      tell(cronJob, "Normal", "JobAlreadyActive", message);
      return status;
    }
    if (concurrencyPolicy === "Replace") {
      for (const job of jobs.get(cronJob.metadata.uid)) if (!isJobFinished(job["status"])) deleteJob(cronJob, job);
      active = [];
    }
    const job = createJob(cronJob, dueMs);
    if (job === undefined) return { ...status, ...(active.length > 0 ? { active } : {}) };
    const { namespace = "", name, uid, resourceVersion } = job.metadata;
    const reference = { kind: "Job", namespace, name, uid, apiVersion: "batch/v1", resourceVersion };
    return { ...status, active: [...active, reference], lastScheduleTime: rfc3339(dueMs) };
  }

  function createJob(cronJob: Readonly<ApiObject>, dueMs: number): Job | undefined {
    try {
      const job = cluster.create(jobKind, newJob(cronJob, dueMs));
      tell(cronJob, "Normal", "SuccessfulCreate", `Created job ${job.metadata.name}`);
      return job;
    } catch (error) {
      if (error instanceof WriteWaits) throw error;
      if (isNamespaceTerminating(error) || (error instanceof ApiStatusError && error.status.reason === "AlreadyExists")) return undefined;
      tell(cronJob, "Warning", "FailedCreate", `Error creating job: ${error instanceof Error ? error.message : String(error)}`);
      throw error;
    }
  }

  function trimHistory(cronJob: Readonly<ApiObject>): void {
    const { successfulJobsHistoryLimit, failedJobsHistoryLimit }: CronJobSpec = cronJob["spec"];
    const ended = jobs.get(cronJob.metadata.uid).filter(({ status }) => isJobFinished(status));
    const failed = ended.filter((job) => !isSuccess(job));
    for (const job of surplus(ended.filter(isSuccess), successfulJobsHistoryLimit)) deleteJob(cronJob, job);
    for (const job of surplus(failed, failedJobsHistoryLimit)) deleteJob(cronJob, job);
  }

  function deleteJob(cronJob: Readonly<ApiObject>, { metadata }: Job): void {
    cluster.delete(jobKind, metadata.namespace, metadata.name, { uid: metadata.uid, propagationPolicy: "Background" });
    tell(cronJob, "Normal", "SuccessfulDelete", `Deleted job ${metadata.name}`);
  }

  function tell(cronJob: Readonly<ApiObject>, type: "Normal" | "Warning", reason: string, message: string): void {
    events.record(component, cronJob, { type, reason, message });
  }
}

/** Returns the oldest Jobs beyond the limit. */
function surplus(ended: readonly Job[], limit: number = ended.length): Job[] {
  const startOf = ({ status }: Job): string => (status as JobStatus).startTime ?? "";
  const oldest = ended.toSorted((a, b) =>
    startOf(a) === startOf(b) ? (a.metadata.name < b.metadata.name ? -1 : 1) : startOf(a) < startOf(b) ? -1 : 1,
  );
  return oldest.slice(0, Math.max(0, ended.length - limit));
}

/** Source: Kubernetes v1.36.3 pkg/controller/cronjob/utils.go, getJobFromTemplate2. */
export function newJob(cronJob: Readonly<ApiObject>, dueMs: number): object {
  const { jobTemplate, timeZone = "UTC" }: CronJobSpec = cronJob["spec"];
  const { labels, annotations } = jobTemplate.metadata;
  const { name, namespace } = cronJob.metadata;
  return {
    metadata: {
      name: `${name}-${Math.floor(dueMs / 60_000)}`,
      namespace,
      labels,
      annotations: { ...annotations, [scheduledAnnotation]: localTimestamp(dueMs, timeZone) },
      ownerReferences: [controllerReference(cronJobKind, cronJob)],
    },
    spec: jobTemplate.spec,
  };
}

function isSuccess({ status }: Job): boolean {
  return isJobConditionTrue(status, "Complete");
}

/** Formats a time as RFC 3339 in the given time zone. */
function localTimestamp(epochMs: number, timeZone: string): string {
  const offsetMs = zoneOffsetMs(timeZone, epochMs);
  if (offsetMs === 0) return rfc3339(epochMs);
  const minutes = Math.abs(offsetMs) / 60_000;
  const two = (value: number): string => String(value).padStart(2, "0");
  const zone = `${offsetMs < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  return rfc3339(epochMs + offsetMs).replace("Z", zone);
}
