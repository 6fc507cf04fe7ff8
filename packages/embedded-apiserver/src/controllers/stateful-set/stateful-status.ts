import type { StatefulSetStatus } from "../../kinds/workload/workload-fields.ts";
import { availableInMs } from "../shared/pod-state.ts";
import { podRevisionOf } from "./stateful-pod.ts";
import { isAvailable, isRunningAndReady, type StatefulView } from "./stateful-plan.ts";

/**
 * Computes counts and revisions of a StatefulSet.
 * Source: Kubernetes v1.36.3 pkg/controller/statefulset/{stateful_set_control,stateful_set_utils}.go.
 */
export function statefulSetStatus(
  view: StatefulView,
  collisionCount: number,
): { readonly status: StatefulSetStatus; readonly nextAvailableMs: number | undefined } {
  const { set, spec, pods, currentRevision, updateRevision, nowMs } = view;
  const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const ready = pods.filter(isRunningAndReady);
  const counts = {
    readyReplicas: ready.length,
    currentReplicas: alive.filter((pod) => podRevisionOf(pod) === currentRevision).length,
    updatedReplicas: alive.filter((pod) => podRevisionOf(pod) === updateRevision).length,
  };
  const { replicas: wanted = 1 } = spec;
  const isDone =
    spec.updateStrategy.type === "RollingUpdate" &&
    counts.updatedReplicas === wanted &&
    counts.readyReplicas === wanted &&
    pods.length === wanted;
  if (isDone) counts.currentReplicas = counts.updatedReplicas;
  const waits = ready
    .map((pod) => availableInMs(pod, spec.minReadySeconds ?? 0, nowMs))
    .filter((wait) => wait !== undefined)
    .filter((wait) => wait > 0);
  return {
    status: {
      observedGeneration: set.metadata.generation ?? 0,
      replicas: pods.length,
      ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      currentRevision: isDone ? updateRevision : currentRevision,
      updateRevision,
      collisionCount,
      availableReplicas: ready.filter((pod) => isAvailable(pod, view)).length,
    },
    nextAvailableMs: waits.length > 0 ? Math.min(...waits) : undefined,
  };
}
