import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { JobCondition } from "../../kinds/batch/batch-fields.ts";
import { parseIndexes } from "../../kinds/batch/job-indexes.ts";
import type { PodStatus } from "../../kinds/pod/pod-fields.ts";
import { judgeFailure } from "./job-failure-policy.ts";
import { hasFailed } from "./job-pods.ts";
import type { JobView } from "./job-view.ts";

/** Builds a condition with the current time. */
export function jobCondition(type: string, reason: string, message: string, nowMs: number, status: string = "True"): JobCondition {
  const now = rfc3339(nowMs);
  return { type, status, lastProbeTime: now, lastTransitionTime: now, reason, message };
}

/**
 * Outcome of the Job that its active pods can no longer change: `SuccessCriteriaMet`, `FailureTarget`, or `Failed` if the status has
 * `FailureTarget` already; `undefined` while it is open.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/job/job_controller.go, syncJob.
 */
export function outcomeOf(view: JobView, nowMs: number): JobCondition | undefined {
  const { conditions = [] } = view.status;
  const isTrue = (type: string): JobCondition | undefined => conditions.find((one) => one.type === type && one.status === "True");
  const met = isTrue("SuccessCriteriaMet");
  if (met !== undefined) return met;
  const target = isTrue("FailureTarget");
  if (target !== undefined) return jobCondition("Failed", target.reason ?? "", target.message ?? "", nowMs);
  const failure = failureOf(view, nowMs);
  if (failure !== undefined) return jobCondition("FailureTarget", ...failure, nowMs);
  const rule = matchedSuccessRule(view);
  return rule === undefined ? undefined : jobCondition("SuccessCriteriaMet", "SuccessPolicy", `Matched rules at index ${rule}`, nowMs);
}

/** Condition of a Job that has reached its completions. */
export function completion(nowMs: number): JobCondition {
  return jobCondition("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods", nowMs);
}

function failureOf(view: JobView, nowMs: number): readonly [reason: string, message: string] | undefined {
  const { spec, pods, indexes, failed } = view;
  const verdict = pods.filter((pod) => hasFailed(pod, spec)).map((pod) => judgeFailure(spec, pod).jobFailure);
  const told = verdict.find((message) => message !== undefined);
  if (spec.podFailurePolicy !== undefined && told !== undefined) return ["PodFailurePolicy", told];
  if (failed > (spec.backoffLimit ?? 0) || hasRestartedTooOften(view))
    return ["BackoffLimitExceeded", "Job has reached the specified backoff limit"];
  if (deadlineInMs(view, nowMs) === 0) return ["DeadlineExceeded", "Job was active longer than specified deadline"];
  const failedIndexes = indexes?.failed?.size ?? 0;
  if (spec.maxFailedIndexes !== undefined && failedIndexes > spec.maxFailedIndexes)
    return ["MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"];
  if (failedIndexes > 0 && failedIndexes + (indexes?.succeeded.size ?? 0) >= (spec.completions ?? 0))
    return ["FailedIndexes", "Job has failed indexes"];
  return undefined;
}

/** With `restartPolicy: OnFailure`, container restarts count towards `backoffLimit`. */
function hasRestartedTooOften({ spec: { template, backoffLimit = 0 }, pods }: JobView): boolean {
  if (template.spec.restartPolicy !== "OnFailure") return false;
  const restarts = pods
    .map((pod): PodStatus => pod["status"])
    .filter(({ phase }) => phase === "Running" || phase === "Pending")
    .flatMap(({ initContainerStatuses = [], containerStatuses = [] }) => [...initContainerStatuses, ...containerStatuses])
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  return backoffLimit === 0 ? restarts > 0 : restarts >= backoffLimit;
}

/** Remaining time until `activeDeadlineSeconds`, in milliseconds; `undefined` without a deadline. */
export function deadlineInMs({ spec, status }: Pick<JobView, "spec" | "status">, nowMs: number): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || status.startTime === undefined || spec.suspend === true) return undefined;
  return Math.max(0, Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000 - nowMs);
}

/** Source: Kubernetes v1.36.3 pkg/controller/job/success_policy.go. */
function matchedSuccessRule({ spec, indexes }: JobView): number | undefined {
  const succeeded = indexes?.succeeded;
  if (succeeded === undefined || succeeded.size === 0) return undefined;
  const at = (spec.successPolicy?.rules ?? []).findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined) return succeededCount !== undefined && succeeded.size >= succeededCount;
    const wanted = parseIndexes(succeededIndexes, spec.completions ?? 0);
    const reached = [...wanted].filter((index) => succeeded.has(index)).length;
    return wanted.size > 0 && (reached === wanted.size || (succeededCount !== undefined && reached >= succeededCount));
  });
  return at < 0 ? undefined : at;
}
