import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { ApiMetadata } from "../kind.ts";
import type { ObjectReference } from "../object-reference.ts";
import type { PodTemplate } from "../workload/workload-fields.ts";

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

/** Rule of a Job's failure policy. */
export interface PodFailureRule {
  action: string;
  onExitCodes?: { containerName?: string; operator: string; values: number[] | null };
  onPodConditions?: { type: string; status: string }[];
}

/** Rule of a Job's success policy. */
export interface SuccessRule {
  succeededIndexes?: string;
  succeededCount?: number;
}

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

export interface JobCondition {
  type: string;
  status: string;
  lastProbeTime?: string | null;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

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

export interface CronJobStatus {
  active?: ObjectReference[];
  lastScheduleTime?: string;
  lastSuccessfulTime?: string;
}

export function isIndexed({ completionMode }: JobSpec): boolean {
  return completionMode === "Indexed";
}

export function isJobConditionTrue({ conditions = [] }: JobStatus, type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === "True");
}

/** Whether the Job has the condition Complete or Failed. */
export function isJobFinished(status: JobStatus): boolean {
  return isJobConditionTrue(status, "Complete") || isJobConditionTrue(status, "Failed");
}
