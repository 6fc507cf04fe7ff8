import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { ApiMetadata } from "../kind.ts";
import type { ObjectReference } from "../object-reference.ts";
import type { PodTemplate } from "../workload/workload-fields.ts";

/** The spec of a Job. */
export interface JobSpec {
  parallelism?: number;
  completions?: number;
  activeDeadlineSeconds?: number;
  podFailurePolicy?: { rules: PodFailureRule[] | null };
  successPolicy?: { rules: SuccessRule[] | null };
  backoffLimit?: number;
  backoffLimitPerIndex?: number;
  maxFailedIndexes?: number;
  selector?: LabelSelector;
  manualSelector?: boolean;
  template: PodTemplate;
  ttlSecondsAfterFinished?: number;
  completionMode?: string;
  suspend?: boolean;
  podReplacementPolicy?: string;
  managedBy?: string;
}

/** What becomes of a Job when a pod of it fails in a certain way. */
export interface PodFailureRule {
  action: string;
  onExitCodes?: { containerName?: string; operator: string; values: number[] | null };
  onPodConditions?: { type: string; status: string }[];
}

/** When a Job has had enough successes. */
export interface SuccessRule {
  succeededIndexes?: string;
  succeededCount?: number;
}

/** The status of a Job. */
export interface JobStatus {
  conditions?: JobCondition[];
  startTime?: string;
  completionTime?: string;
  active?: number;
  succeeded?: number;
  failed?: number;
  terminating?: number;
  completedIndexes?: string;
  failedIndexes?: string;
  uncountedTerminatedPods?: { succeeded?: string[]; failed?: string[] };
  ready?: number;
}

/** A condition of a Job. */
export interface JobCondition {
  type: string;
  status: string;
  lastProbeTime?: string | null;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

/** The spec of a CronJob. */
export interface CronJobSpec {
  schedule: string;
  timeZone?: string;
  startingDeadlineSeconds?: number;
  concurrencyPolicy?: string;
  suspend?: boolean;
  jobTemplate: { metadata: Partial<Pick<ApiMetadata, "labels" | "annotations">>; spec: JobSpec };
  successfulJobsHistoryLimit?: number;
  failedJobsHistoryLimit?: number;
}

/** The status of a CronJob. */
export interface CronJobStatus {
  active?: ObjectReference[];
  lastScheduleTime?: string;
  lastSuccessfulTime?: string;
}

/** Whether the Job's pods are numbered. */
export function isIndexed({ completionMode }: JobSpec): boolean {
  return completionMode === "Indexed";
}

/** Whether a condition of that type is there and true. */
export function isJobConditionTrue({ conditions = [] }: JobStatus, type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === "True");
}

/** Whether the Job has come to its end, good or bad. */
export function isJobFinished(status: JobStatus): boolean {
  return isJobConditionTrue(status, "Complete") || isJobConditionTrue(status, "Failed");
}
