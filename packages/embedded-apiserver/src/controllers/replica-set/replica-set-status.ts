import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { ReplicaSetSpec, ReplicaSetStatus, WorkloadCondition } from "../../kinds/workload/workload-fields.ts";
import { availableInMs, isReady } from "../shared/pod-state.ts";

/** Input of {@link replicaSetStatus}. */
export interface ReplicaSetFacts {
  readonly active: readonly Readonly<ApiObject>[];
  readonly terminating: readonly Readonly<ApiObject>[];
  /** Error from creating or deleting pods; `undefined` if there was none. */
  readonly failure: unknown;
  readonly nowMs: number;
}

/**
 * Computes the status of a ReplicaSet, and the milliseconds until it changes because a pod becomes available.
 * Source: Kubernetes v1.36.3 pkg/controller/replicaset/replica_set_utils.go, calculateStatus.
 */
export function replicaSetStatus(
  replicaSet: Readonly<ApiObject>,
  { active, terminating, failure, nowMs }: ReplicaSetFacts,
): { status: ReplicaSetStatus; nextAvailableMs: number | undefined } {
  const { minReadySeconds = 0, template, replicas = 1 }: ReplicaSetSpec = replicaSet["spec"];
  const old: ReplicaSetStatus = replicaSet["status"];
  const labels = Object.entries(template.metadata.labels ?? {});
  const waits = active.map((pod) => availableInMs(pod, minReadySeconds, nowMs)).filter((wait) => wait !== undefined);
  const pending = waits.filter((wait) => wait > 0);
  const conditions = failureConditions(old.conditions ?? [], failure, { missing: replicas - active.length, nowMs });
  const status: ReplicaSetStatus = {
    replicas: active.length,
    ...nonZero("fullyLabeledReplicas", active.filter((pod) => labels.every(([key, value]) => pod.metadata.labels?.[key] === value)).length),
    ...nonZero("readyReplicas", active.filter(isReady).length),
    ...nonZero("availableReplicas", waits.length - pending.length),
    terminatingReplicas: terminating.length,
    observedGeneration: replicaSet.metadata.generation ?? 0,
    ...(conditions.length > 0 ? { conditions } : {}),
  };
  return { status, nextAvailableMs: pending.length > 0 ? Math.min(...pending) : undefined };
}

function nonZero(field: string, count: number): Partial<Record<string, number>> {
  return count === 0 ? {} : { [field]: count };
}

function failureConditions(
  old: readonly WorkloadCondition[],
  failure: unknown,
  { missing, nowMs }: { readonly missing: number; readonly nowMs: number },
): WorkloadCondition[] {
  const others = old.filter(({ type }) => type !== "ReplicaFailure");
  if (failure === undefined) return others;
  if (others.length < old.length) return [...old];
  const message = failure instanceof Error ? failure.message : String(failure);
  return [
    ...others,
    {
      type: "ReplicaFailure",
      status: "True",
      lastTransitionTime: rfc3339(nowMs),
      reason: missing > 0 ? "FailedCreate" : "FailedDelete",
      message,
    },
  ];
}
