import type { ContainerState, ContainerStatus, DeepReadonly, ProviderPod, ProviderPodStatus } from "@virtual-kubelet/core";
import type { Instance, InstanceContainer } from "./instance.ts";

/** How a provider over a pretend back end reports the instance. */
export function toProviderPod(instance: Instance): ProviderPod {
  return { ref: instance.ref, owner: instance.owner, createdAt: timestamp(instance.createdAtMs), status: toProviderPodStatus(instance) };
}

/** The pod's status as the instance shows it: Pending until it runs, Running until all has ended. */
export function toProviderPodStatus(instance: Instance): ProviderPodStatus {
  const { state, podIP } = instance;
  const main = mainState(instance);
  const init = initState(instance);
  const ready = { main: main.running !== undefined, init: init.terminated !== undefined };
  const statuses = {
    containerStatuses: instance.containers.map((container) => containerStatus(instance, container, main, ready.main)),
    initContainerStatuses: instance.initContainers.map((container) => containerStatus(instance, container, init, ready.init)),
  };
  switch (state.kind) {
    case "starting":
      return { phase: "Pending", ...statuses };
    case "running":
    case "stopping":
      // What is told to end before it ran has not run.
      if (state.startedAtMs === undefined) return { phase: "Pending", ...statuses };
      return { phase: "Running", podIP, podIPs: [{ ip: podIP }], ...statuses };
    case "ended":
      return { phase: state.exitCode === 0 ? "Succeeded" : "Failed", podIP, podIPs: [{ ip: podIP }], ...statuses };
  }
}

function mainState(instance: Instance): DeepReadonly<ContainerState> {
  const { state } = instance;
  switch (state.kind) {
    case "starting":
      return { waiting: { reason: "ContainerCreating" } };
    case "running":
      return { running: { startedAt: timestamp(state.startedAtMs) } };
    case "stopping":
      return state.startedAtMs === undefined
        ? { waiting: { reason: "ContainerCreating" } }
        : { running: { startedAt: timestamp(state.startedAtMs) } };
    case "ended":
      return {
        terminated: {
          exitCode: state.exitCode,
          reason: state.exitCode === 0 ? "Completed" : "Error",
          startedAt: timestamp(state.startedAtMs ?? state.endedAtMs),
          finishedAt: timestamp(state.endedAtMs),
        },
      };
  }
}

/** Init containers end in the instant before the others start. */
function initState(instance: Instance): DeepReadonly<ContainerState> {
  const { state } = instance;
  const startedAtMs = state.kind === "starting" ? undefined : state.startedAtMs;
  if (startedAtMs === undefined) return { waiting: { reason: "PodInitializing" } };
  return { terminated: { exitCode: 0, reason: "Completed", startedAt: timestamp(startedAtMs), finishedAt: timestamp(startedAtMs) } };
}

function containerStatus(
  instance: Instance,
  container: InstanceContainer,
  state: DeepReadonly<ContainerState>,
  ready: boolean,
): DeepReadonly<ContainerStatus> {
  return {
    name: container.name,
    image: container.image,
    imageID: "",
    // Names the instance, so that a test sees in the API which one it is.
    ...(state.waiting === undefined ? { containerID: `pretend://${instance.instanceId}/${container.name}` } : {}),
    ready,
    started: state.running !== undefined,
    restartCount: 0,
    state,
  };
}

function timestamp(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/\.\d+Z$/, "Z");
}
