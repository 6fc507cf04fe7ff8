import { isSidecar } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { JobSpec } from "../../kinds/batch/batch-fields.ts";
import { completionIndexKey, trackingFinalizer } from "../../kinds/batch/job-labels.ts";
import type { PodSpec, PodStatus } from "../../kinds/pod/pod-fields.ts";
import { podCondition } from "../shared/pod-state.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/controller/job/{job_controller,indexed_job_utils,backoff_utils}.go. */

export type JobPod = Readonly<ApiObject>;

const failuresAnnotation = "batch.kubernetes.io/job-index-failure-count";
const ignoredAnnotation = "batch.kubernetes.io/job-index-ignored-failure-count";

/** Completion index of a pod; `undefined` if it has none. */
export function completionIndexOf({ metadata }: JobPod): number | undefined {
  const text = metadata.annotations?.[completionIndexKey];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Whether the Job has not counted the pod's end yet. */
export function isTracked({ metadata }: JobPod): boolean {
  return metadata.finalizers?.includes(trackingFinalizer) ?? false;
}

/** Removes the finalizer that keeps a pod until the Job has counted it. */
export function withoutTracking(pod: ApiObject): ApiObject {
  const finalizers = (pod.metadata.finalizers ?? []).filter((finalizer) => finalizer !== trackingFinalizer);
  if (finalizers.length > 0) pod.metadata.finalizers = finalizers;
  else delete pod.metadata.finalizers;
  return pod;
}

/** Whether a pod is replaced only after it has terminated, instead of as soon as its deletion starts. */
export function replacesOnlyFailed({ podReplacementPolicy, podFailurePolicy }: JobSpec): boolean {
  return podReplacementPolicy === "Failed" || podFailurePolicy !== undefined;
}

/** Whether the pod counts as failed. */
export function hasFailed(pod: JobPod, spec: JobSpec): boolean {
  const { phase }: PodStatus = pod["status"];
  if (phase === "Failed") return true;
  return !replacesOnlyFailed(spec) && pod.metadata.deletionTimestamp !== undefined && phase !== "Succeeded";
}

/** Failures of earlier pods with the same index: counted ones, and those that the failure policy ignored. */
export function earlierFailures({ metadata }: JobPod): { readonly counted: number; readonly ignored: number } {
  const numberOf = (annotation: string): number => {
    const text = metadata.annotations?.[annotation] ?? "";
    return /^\d+$/.test(text) ? Math.min(Number(text), 2 ** 31 - 1) : 0;
  };
  return { counted: numberOf(failuresAnnotation), ignored: numberOf(ignoredAnnotation) };
}

/** Annotations that carry the number of earlier failures to the next pod. */
export function failureAnnotations({ counted, ignored }: { readonly counted: number; readonly ignored: number }): Record<string, string> {
  return { [failuresAnnotation]: String(counted), ...(ignored > 0 ? { [ignoredAnnotation]: String(ignored) } : {}) };
}

/** Best known time of the pod's end, in milliseconds since the epoch. */
export function finishedMs(pod: JobPod): number {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp } = pod.metadata;
  const ready = podCondition(pod, "Ready");
  const told =
    containersFinishedMs(pod) ??
    (ready?.status === "False" && ready.lastTransitionTime ? Date.parse(ready.lastTransitionTime) : undefined) ??
    (deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000);
  return told ?? Date.parse(creationTimestamp);
}

function containersFinishedMs(pod: JobPod): number | undefined {
  const { initContainers = [] }: PodSpec = pod["spec"];
  const { containerStatuses = [], initContainerStatuses = [] }: PodStatus = pod["status"];
  const sidecars = new Set(initContainers.filter(isSidecar).map(({ name }) => name));
  const times = [...containerStatuses, ...initContainerStatuses.filter(({ name }) => sidecars.has(name))].map(
    ({ state }) => state.terminated?.finishedAt,
  );
  const known = times.filter((time) => typeof time === "string");
  return times.length === 0 || known.length < times.length ? undefined : Math.max(...known.map((time) => Date.parse(time)));
}
