import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { duplicate, invalidPart, invalidValue, required } from "../validation/field-errors.ts";
import { nonNegative } from "../validation/numbers.ts";
import { isIndexed, isJobConditionTrue, isJobFinished, type JobSpec, type JobStatus } from "./batch-fields.ts";
import { checkIndexes, parseIndexes } from "./job-indexes.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/batch/validation/validation.go and pkg/registry/batch/job/strategy.go. */

interface Change {
  readonly spec: JobSpec;
  readonly status: JobStatus;
  readonly old: JobStatus;
}

/** A rule is checked only if one of its fields has changed. */
interface Rule {
  readonly on: readonly ((status: JobStatus) => unknown)[];
  readonly errors: (change: Change) => readonly FieldError[];
}

const is =
  (type: string) =>
  (status: JobStatus): boolean =>
    isJobConditionTrue(status, type);
const isComplete = is("Complete");
const isFailed = is("Failed");
const isFailureTarget = is("FailureTarget");
const hasSucceeded = is("SuccessCriteriaMet");
const conditions = (detail: string): FieldError => invalidPart("status.conditions", detail);

export function jobStatusErrors(job: ApiObject, oldJob: ApiObject): FieldError[] {
  const change: Change = { spec: job["spec"], status: job["status"], old: oldJob["status"] };
  const { status, old } = change;
  if (equalJson(status, old)) return [];
  return [
    ...(["active", "succeeded", "failed", "ready", "terminating"] as const).flatMap((name) => nonNegative(status[name], `status.${name}`)),
    ...uncountedErrors(status),
    ...rules.filter(({ on }) => on.some((part) => !equalJson(part(status), part(old)))).flatMap(({ errors }) => errors(change)),
    ...successErrors(change),
    ...stepErrors(change),
  ];
}

function uncountedErrors({ uncountedTerminatedPods }: JobStatus): FieldError[] {
  const seen = new Set<string>();
  return (["succeeded", "failed"] as const).flatMap((list) =>
    (uncountedTerminatedPods?.[list] ?? []).flatMap((uid, index): FieldError[] => {
      const field = `status.uncountedTerminatedPods.${list}[${index}]`;
      if (uid === "") return [invalidValue(field, uid, "must not be empty")];
      if (seen.has(uid)) return [duplicate(field, uid)];
      seen.add(uid);
      return [];
    }),
  );
}

const rules: readonly Rule[] = [
  {
    on: [isComplete, isFailed],
    errors: ({ status }) =>
      isComplete(status) && isFailed(status) ? [conditions("cannot set Complete=True and Failed=true conditions")] : [],
  },
  {
    on: [isComplete, isFailureTarget],
    errors: ({ status }) =>
      isComplete(status) && isFailureTarget(status) ? [conditions("cannot set Complete=True and FailureTarget=true conditions")] : [],
  },
  {
    on: [isComplete, ({ completionTime }) => completionTime],
    errors: ({ status: { completionTime }, status }) =>
      isComplete(status) === (completionTime !== undefined)
        ? []
        : isComplete(status)
          ? [required("status.completionTime", "completionTime is required for Complete jobs")]
          : [invalidValue("status.completionTime", completionTime, "cannot set completionTime when there is no Complete=True condition")],
  },
  {
    on: [({ startTime }) => startTime, ({ completionTime }) => completionTime],
    errors: ({ status: { startTime, completionTime } }) =>
      startTime !== undefined && completionTime !== undefined && completionTime < startTime
        ? [invalidValue("status.completionTime", completionTime, "must be equal to or after `startTime`")]
        : [],
  },
  {
    on: [isFailed, ({ failedIndexes }) => failedIndexes],
    errors: ({ status }) =>
      isFailed(status) && !isFailureTarget(status)
        ? [conditions("cannot set Failed=True condition without the FailureTarget=true condition")]
        : [],
  },
  {
    on: [isComplete, hasSucceeded],
    errors: ({ status }) =>
      isComplete(status) && !hasSucceeded(status)
        ? [conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")]
        : [],
  },
  {
    on: [isJobFinished, ({ active = 0 }) => active],
    errors: ({ status: { active = 0 }, status }) =>
      active > 0 && isJobFinished(status) ? [invalidValue("status.active", active, "active>0 is invalid for finished job")] : [],
  },
  {
    on: [isJobFinished, ({ startTime }) => startTime],
    errors: ({ status, spec: { suspend, completions } }) =>
      status.startTime === undefined && isJobFinished(status) && !(suspend === true && completions === 0)
        ? [required("status.startTime", "startTime is required for finished job")]
        : [],
  },
  {
    on: [isJobFinished, ({ uncountedTerminatedPods }) => uncountedTerminatedPods],
    errors: ({ status: { uncountedTerminatedPods: uncounted }, status }) =>
      isJobFinished(status) && (uncounted?.failed?.length ?? 0) + (uncounted?.succeeded?.length ?? 0) > 0
        ? [invalidValue("status.uncountedTerminatedPods", uncounted, "must be empty for finished job")]
        : [],
  },
  {
    on: [({ completedIndexes }) => completedIndexes],
    errors: ({ spec, status: { completedIndexes = "" } }) => [
      ...indexErrors("completedIndexes", completedIndexes, spec.completions),
      ...(completedIndexes !== "" && !isIndexed(spec)
        ? [
            invalidValue(
              "status.completedIndexes",
              completedIndexes,
              "cannot set non-empty completedIndexes when non-indexed completion mode",
            ),
          ]
        : []),
    ],
  },
  {
    on: [({ failedIndexes }) => failedIndexes],
    errors: ({ spec: { completions, backoffLimitPerIndex }, status: { failedIndexes } }) => {
      if (failedIndexes === undefined) return [];
      if (backoffLimitPerIndex !== undefined) return indexErrors("failedIndexes", failedIndexes, completions);
      return [invalidValue("status.failedIndexes", failedIndexes, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")];
    },
  },
  {
    on: [({ failedIndexes }) => failedIndexes, ({ completedIndexes }) => completedIndexes],
    errors: ({ spec: { completions = 0 }, status: { failedIndexes, completedIndexes } }) => {
      const completed = parseIndexes(completedIndexes, completions);
      const both = [...parseIndexes(failedIndexes, completions)].find((index) => completed.has(index));
      return both === undefined
        ? []
        : [invalidValue("status.failedIndexes", failedIndexes, `failedIndexes and completedIndexes overlap at index: ${both}`)];
    },
  },
  {
    on: [isJobFinished, ({ terminating }) => terminating],
    errors: ({ status: { terminating = 0 }, status }) =>
      terminating > 0 && isJobFinished(status)
        ? [invalidValue("status.terminating", terminating, "terminating>0 is invalid for finished job")]
        : [],
  },
  {
    on: [({ ready }) => ready, ({ active = 0 }) => active],
    errors: ({ status: { ready = 0, active = 0 } }) =>
      ready > active ? [invalidValue("status.ready", ready, "cannot set more ready pods than active")] : [],
  },
];

function indexErrors(name: string, text: string, completions: number | undefined): FieldError[] {
  if (completions === undefined) return [];
  const problem = checkIndexes(text, completions);
  return typeof problem === "string" ? [invalidValue(`status.${name}`, text, `error parsing ${name}: ${problem}`)] : [];
}

function successErrors({ spec, status }: Change): FieldError[] {
  return [
    ...(hasSucceeded(status) && isFailed(status) ? [conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")] : []),
    ...(hasSucceeded(status) && isFailureTarget(status)
      ? [conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")]
      : []),
    ...(spec.successPolicy !== undefined && !hasSucceeded(status) && isComplete(status)
      ? [conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")]
      : []),
  ];
}

/** Fields that may only grow or must not be removed. */
function stepErrors({ spec, status, old }: Change): FieldError[] {
  const errors = ["Failed", "Complete", "FailureTarget"]
    .filter((type) => isJobConditionTrue(old, type) && !isJobConditionTrue(status, type))
    .map((type) => conditions(`cannot disable the terminal ${type}=True condition`));
  const { failed = 0, succeeded = 0 } = status;
  if (failed < (old.failed ?? 0)) errors.push(invalidValue("status.failed", failed, "cannot decrease the failed counter"));
  const mayShrink = isIndexed(spec) && spec.completions === spec.parallelism;
  if (!mayShrink && succeeded < (old.succeeded ?? 0))
    errors.push(invalidValue("status.succeeded", succeeded, "cannot decrease the succeeded counter"));
  return [...errors, ...timeErrors({ spec, status, old }), ...successStepErrors(status, old)];
}

function timeErrors({ spec, status, old }: Change): FieldError[] {
  const errors: FieldError[] = [];
  const { completionTime, startTime } = status;
  if (completionTime !== undefined && old.completionTime !== undefined && completionTime !== old.completionTime)
    errors.push(invalidValue("status.completionTime", completionTime, "field is immutable"));
  const isResumed =
    isJobConditionTrue(old, "Suspended") && status.conditions?.some(({ type, status: is }) => type === "Suspended" && is === "False");
  if (isResumed !== true && old.startTime !== undefined && startTime !== old.startTime && spec.suspend !== true)
    errors.push(invalidValue("status.startTime", startTime, "field is immutable for unsuspended job once set"));
  return errors;
}

function successStepErrors(status: JobStatus, old: JobStatus): FieldError[] {
  const errors: FieldError[] = [];
  if (hasSucceeded(old) && !hasSucceeded(status)) errors.push(conditions("cannot disable the SuccessCriteriaMet=True condition"));
  if (isComplete(old) && !hasSucceeded(old) && hasSucceeded(status))
    errors.push(conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"));
  return errors;
}
