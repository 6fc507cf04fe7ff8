import type { ApiObject, FieldError, Kind } from "../kind.ts";
import { applyPodSpecDefaults } from "../pod/pod-spec-defaults.ts";
import { invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { nonNegative } from "../validation/numbers.ts";
import type { CronJobSpec } from "./batch-fields.ts";
import { cronJobColumns } from "./batch-columns.ts";
import { parseSchedule } from "./cron-schedule.ts";
import { applyPodFailurePolicyDefaults } from "./job.ts";
import { isTimeZone } from "./time-zone.ts";
import { jobSpecErrors } from "./validate-job.ts";

/** The names of a CronJob's Jobs are 11 characters longer than its own, and at most 63 characters long. */
const maxNameLength = 52;
const policies = ["Allow", "Forbid", "Replace"];

/** Source: Kubernetes v1.36.3 pkg/apis/batch/v1/defaults.go, pkg/apis/batch/validation/validation.go and pkg/registry/batch/cronjob/strategy.go. */
export const cronJobKind: Kind = {
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs",
  singular: "cronjob",
  shortNames: ["cj"],
  categories: ["all"],
  namespaced: true,
  schema: "io.k8s.api.batch.v1.CronJob",
  hasStatus: true,
  hasGeneration: true,
  applyDefaults(cronJob) {
    const spec: CronJobSpec = cronJob["spec"];
    spec.concurrencyPolicy ??= "Allow";
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
    applyPodSpecDefaults(spec.jobTemplate.spec.template.spec);
    applyPodFailurePolicyDefaults(spec.jobTemplate.spec);
  },
  prepareForCreate(cronJob) {
    cronJob["status"] = {};
  },
  validate: cronJobErrors,
  columns: cronJobColumns,
};

function cronJobErrors(cronJob: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: CronJobSpec = cronJob["spec"];
  if (old !== undefined && old["spec"] === spec) return [];
  const { name } = cronJob.metadata;
  return [
    ...scheduleErrors(spec, (old?.["spec"] as CronJobSpec | undefined)?.schedule),
    ...nonNegative(spec.startingDeadlineSeconds, "spec.startingDeadlineSeconds"),
    ...timeZoneErrors(spec.timeZone),
    ...(policies.includes(spec.concurrencyPolicy ?? "") ? [] : [notSupported("spec.concurrencyPolicy", spec.concurrencyPolicy, policies)]),
    ...jobTemplateErrors(spec.jobTemplate, "spec.jobTemplate.spec"),
    ...nonNegative(spec.successfulJobsHistoryLimit, "spec.successfulJobsHistoryLimit"),
    ...nonNegative(spec.failedJobsHistoryLimit, "spec.failedJobsHistoryLimit"),
    ...(old === undefined && name.length > maxNameLength
      ? [invalidValue("metadata.name", name, "must be no more than 52 characters")]
      : []),
  ];
}

function scheduleErrors({ schedule = "", timeZone }: Partial<CronJobSpec>, old: string | undefined): FieldError[] {
  const field = "spec.schedule";
  if (schedule === "") return [required(field)];
  const names = schedule.includes("TZ");
  const parsed = parseSchedule(schedule.replace(/^(CRON_)?TZ=\S+\s+/, ""));
  return [
    ...(typeof parsed === "string" ? [invalidValue(field, schedule, parsed)] : []),
    ...(names && old?.includes("TZ") !== true
      ? [invalidValue(field, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")]
      : []),
    ...(names && old?.includes("TZ") === true && timeZone !== undefined
      ? [invalidValue(field, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")]
      : []),
  ];
}

function timeZoneErrors(name: string | undefined): FieldError[] {
  const field = "spec.timeZone";
  if (name === undefined) return [];
  if (name === "") return [invalidValue(field, name, "timeZone must be nil or non-empty string")];
  const isWellFormed = name.split("/").every((part) => /^[A-Za-z.\-_0-9+]{1,14}$/.test(part) && !/^(\.{1,2}$|-)/.test(part));
  if (!isWellFormed) return [invalidValue(field, name, `unknown time zone ${name}`)];
  if (name.toLowerCase() === "local")
    return [invalidValue(field, name, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")];
  return isTimeZone(name) ? [] : [invalidValue(field, name, `unknown time zone ${name}`)];
}

function jobTemplateErrors({ spec }: CronJobSpec["jobTemplate"], field: string): FieldError[] {
  return [
    ...jobSpecErrors(spec, field),
    ...(spec.selector === undefined ? [] : [invalidValue(`${field}.selector`, spec.selector, "`selector` will be auto-generated")]),
    ...(spec.manualSelector === true ? [notSupported(`${field}.manualSelector`, true, ["nil", "false"])] : []),
  ];
}
