import type { ApiObject, Column } from "../kind.ts";
import { ageColumn, nameColumn, templateColumns, templateColumnsOf } from "../columns/columns.ts";
import { ageOf, humanDuration } from "../columns/human-duration.ts";
import { formatLabelSelector } from "../../selectors/label-selector-text.ts";
import { type CronJobSpec, type CronJobStatus, isJobConditionTrue, type JobSpec, type JobStatus } from "./batch-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/printers/internalversion/printers.go, printJob and printCronJob. */

const selectorDescription =
  "A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors";

export const jobColumns: readonly Column[] = [
  nameColumn,
  { name: "Status", type: "string", description: "Status of the job.", cell: jobPhase },
  {
    name: "Completions",
    type: "string",
    description:
      "The number of pods which reached phase Succeeded. The value increases monotonically for a given spec. However, it may decrease in reaction to scale down of elastic indexed jobs.",
    cell: jobCompletions,
  },
  { name: "Duration", type: "string", description: "Time required to complete the job.", cell: jobDuration },
  ageColumn,
  ...templateColumns,
  {
    name: "Selector",
    type: "string",
    description: selectorDescription,
    wide: true,
    cell: (job) => selectorText(job["spec"]),
  },
];

export const cronJobColumns: readonly Column[] = [
  nameColumn,
  {
    name: "Schedule",
    type: "string",
    description: "The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron.",
    cell: (cronJob) => specOf(cronJob).schedule,
  },
  {
    name: "Timezone",
    type: "string",
    description:
      "The time zone name for the given schedule, see https://en.wikipedia.org/wiki/List_of_tz_database_time_zones. If not specified, this will default to the time zone of the kube-controller-manager process. The set of valid time zone names and the time zone offset is loaded from the system-wide time zone database by the API server during CronJob validation and the controller manager during execution. If no system-wide time zone database can be found a bundled version of the database is used instead. If the time zone name becomes invalid during the lifetime of a CronJob or due to a change in host configuration, the controller will stop creating new new Jobs and will create a system event with the reason UnknownTimeZone. More information can be found in https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#time-zones",
    cell: (cronJob) => specOf(cronJob).timeZone ?? "<none>",
  },
  {
    name: "Suspend",
    type: "boolean",
    description:
      "This flag tells the controller to suspend subsequent executions, it does not apply to already started executions.  Defaults to false.",
    cell: (cronJob) => (specOf(cronJob).suspend === true ? "True" : "False"),
  },
  {
    name: "Active",
    type: "integer",
    description: "A list of pointers to currently running jobs.",
    cell: (cronJob) => cronStatusOf(cronJob).active?.length ?? 0,
  },
  {
    name: "Last Schedule",
    type: "string",
    description: "Information when was the last time the job was successfully scheduled.",
    cell: (cronJob, nowMs) => {
      const { lastScheduleTime } = cronStatusOf(cronJob);
      return lastScheduleTime === undefined ? "<none>" : ageOf(lastScheduleTime, nowMs);
    },
  },
  ageColumn,
  ...templateColumnsOf((cronJob) => specOf(cronJob).jobTemplate.spec.template),
  {
    name: "Selector",
    type: "string",
    description: selectorDescription,
    wide: true,
    cell: (cronJob) => selectorText(specOf(cronJob).jobTemplate.spec),
  },
];

function specOf(cronJob: ApiObject): CronJobSpec {
  return cronJob["spec"];
}

function cronStatusOf(cronJob: ApiObject): CronJobStatus {
  return cronJob["status"];
}

function selectorText({ selector }: JobSpec): string {
  return formatLabelSelector(selector) || "<none>";
}

const phases: readonly (readonly [condition: string, phase: string])[] = [
  ["Suspended", "Suspended"],
  ["FailureTarget", "FailureTarget"],
  ["SuccessCriteriaMet", "SuccessCriteriaMet"],
];

function jobPhase(job: ApiObject): string {
  const status: JobStatus = job["status"];
  if (isJobConditionTrue(status, "Complete")) return "Complete";
  if (isJobConditionTrue(status, "Failed")) return "Failed";
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating";
  return phases.find(([condition]) => isJobConditionTrue(status, condition))?.[1] ?? "Running";
}

function jobCompletions(job: ApiObject): string {
  const { completions, parallelism = 0 }: JobSpec = job["spec"];
  const { succeeded = 0 }: JobStatus = job["status"];
  if (completions !== undefined) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: ApiObject, nowMs: number): string {
  const { startTime, completionTime }: JobStatus = job["status"];
  if (startTime === undefined) return "";
  return humanDuration((completionTime === undefined ? nowMs : Date.parse(completionTime)) - Date.parse(startTime));
}
