import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { EarlierRuns, KnownObject } from "./pod-state.ts";

/** Restarts and last ends that the next object of a pod begins with. */
export function earlierRuns<Remote, Memory>({ observation, earlier }: KnownObject<Remote, Memory>): EarlierRuns {
  const { containerStatuses = [], initContainerStatuses = [] } = observation?.status ?? {};
  return new Map(
    [...initContainerStatuses, ...containerStatuses].map((status) => {
      const before = earlier.get(status.name);
      return [status.name, { restarts: (before?.restarts ?? 0) + status.restartCount + 1, lastState: endOf(status) ?? before?.lastState }];
    }),
  );
}

/**
 * Restarts and last ends of a pod's earlier objects, which this program has not seen, from the pod's status at the API server. The status is
 * that of the present object if the container ids are equal.
 *
 * @param current - container statuses of the present object
 */
export function earlierRunsOf(
  pod: DeepReadonly<Pod> | undefined,
  attempt: number,
  current: readonly DeepReadonly<ContainerStatus>[],
): EarlierRuns {
  if (attempt === 0) return new Map();
  const { containerStatuses = [], initContainerStatuses = [] } = pod?.status ?? {};
  const stored = new Map([...initContainerStatuses, ...containerStatuses].map((status) => [status.name, status]));
  return new Map(
    current.map(({ name, containerID, restartCount }) => {
      const known = stored.get(name);
      if (!known) return [name, { restarts: attempt, lastState: undefined }];
      if (containerID !== undefined && known.containerID === containerID)
        return [name, { restarts: Math.max(known.restartCount - restartCount, 0), lastState: known.lastState }];
      return [name, { restarts: known.restartCount + 1, lastState: endOf(known) }];
    }),
  );
}

function endOf({ state, lastState }: DeepReadonly<ContainerStatus>): DeepReadonly<ContainerStatus>["lastState"] {
  return state?.terminated ? { terminated: state.terminated } : lastState;
}
