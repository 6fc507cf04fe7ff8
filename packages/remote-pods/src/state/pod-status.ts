import type { ContainerStatus, DeepReadonly, ProviderPodStatus } from "@virtual-kubelet/core";
import { earlierRuns } from "./earlier-runs.ts";
import type { EarlierRuns, KnownObject, PodState } from "./pod-state.ts";

/** Status of a pod; `undefined` while nothing is known of it, or when it is gone. Pure. */
export function statusOf<Remote, Memory>(state: PodState<Remote, Memory>): ProviderPodStatus | undefined {
  switch (state.kind) {
    case "gone":
      return undefined;
    case "creating":
    case "unclear":
      return state.before && betweenObjects(state.before);
    case "waiting":
      return betweenObjects(state.object);
    case "present":
    case "missing":
    case "ended":
    case "deleting":
      return state.object && withEarlierRuns(state.object);
    default:
      return state satisfies never;
  }
}

function withEarlierRuns<Remote, Memory>({ observation, earlier }: KnownObject<Remote, Memory>): ProviderPodStatus | undefined {
  if (!observation || earlier.size === 0) return observation?.status;
  const { containerStatuses, initContainerStatuses, phase } = observation.status;
  const hasRun = [...earlier.values()].some(({ lastState }) => lastState?.terminated);
  return {
    ...observation.status,
    // A pod that has run is not Pending again.
    ...(hasRun && phase === "Pending" && { phase: "Running" }),
    ...(containerStatuses && { containerStatuses: containerStatuses.map((status) => joined(status, earlier)) }),
    ...(initContainerStatuses && { initContainerStatuses: initContainerStatuses.map((status) => joined(status, earlier)) }),
  };
}

function joined(status: DeepReadonly<ContainerStatus>, earlier: EarlierRuns): DeepReadonly<ContainerStatus> {
  const before = earlier.get(status.name);
  if (!before) return status;
  const hasOwn = status.lastState?.terminated !== undefined;
  return {
    ...status,
    restartCount: status.restartCount + before.restarts,
    ...(!hasOwn && before.lastState && { lastState: before.lastState }),
  };
}

/** Status of a pod between two objects: its ended containers wait, as with a kubelet. */
function betweenObjects<Remote, Memory>(object: KnownObject<Remote, Memory>): ProviderPodStatus | undefined {
  const { observation } = object;
  if (!observation) return undefined;
  const runs = earlierRuns(object);
  const { status } = observation;
  const hasRun = (status.containerStatuses ?? []).some(({ state }) => state?.terminated);
  return {
    ...status,
    phase: hasRun ? "Running" : "Pending",
    podIP: undefined,
    podIPs: undefined,
    ...(status.containerStatuses && { containerStatuses: status.containerStatuses.map((each) => waiting(each, runs)) }),
  };
}

function waiting(status: DeepReadonly<ContainerStatus>, runs: EarlierRuns): DeepReadonly<ContainerStatus> {
  const before = runs.get(status.name);
  if (!status.state?.terminated) return { ...status, restartCount: Math.max(0, (before?.restarts ?? 1) - 1), ready: false, started: false };
  return {
    name: status.name,
    image: status.image,
    imageID: status.imageID,
    ready: false,
    started: false,
    restartCount: Math.max(0, (before?.restarts ?? 1) - 1),
    ...(before?.lastState && { lastState: before.lastState }),
    state: { waiting: { reason: "CrashLoopBackOff", message: "back-off before the pod gets a new object" } },
  };
}
