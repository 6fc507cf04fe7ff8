import type { DaemonSetStatus } from "../../kinds/workload/workload-fields.ts";
import { availableInMs, isReady } from "../shared/pod-state.ts";
import { byAge, type DaemonView, isAvailable } from "./daemon-plan.ts";
import { isUpdated } from "./daemon-pod.ts";

/** Computes the status of a DaemonSet. Source: Kubernetes v1.36.3 pkg/controller/daemon/daemon_controller.go, updateDaemonSetStatus. */
export function daemonSetStatus(view: DaemonView): { readonly status: DaemonSetStatus; readonly nextAvailableMs: number | undefined } {
  const { daemonSet, hash, nodes, podsByNode, spec, nowMs } = view;
  const old: DaemonSetStatus = daemonSet["status"];
  const wanted = nodes.filter(({ shouldRun }) => shouldRun);
  const oldest = wanted.map(({ name }) => (podsByNode.get(name) ?? []).toSorted(byAge)[0]).filter((pod) => pod !== undefined);
  const misscheduled = nodes.filter(({ name, shouldRun }) => !shouldRun && (podsByNode.get(name)?.length ?? 0) > 0);
  const available = oldest.filter((pod) => isAvailable(pod, view)).length;
  const waits = oldest
    .map((pod) => availableInMs(pod, spec.minReadySeconds ?? 0, nowMs))
    .filter((wait) => wait !== undefined)
    .filter((wait) => wait > 0);
  const optional = {
    updatedNumberScheduled: oldest.filter((pod) => isUpdated(pod, daemonSet, hash)).length,
    numberAvailable: available,
    numberUnavailable: wanted.length - available,
  };
  return {
    status: {
      currentNumberScheduled: oldest.length,
      numberMisscheduled: misscheduled.length,
      desiredNumberScheduled: wanted.length,
      numberReady: oldest.filter(isReady).length,
      observedGeneration: daemonSet.metadata.generation ?? 0,
      ...Object.fromEntries(Object.entries(optional).filter(([, count]) => count > 0)),
      ...(old.collisionCount === undefined ? {} : { collisionCount: old.collisionCount }),
    },
    nextAvailableMs: waits.length > 0 ? Math.min(...waits) : undefined,
  };
}
