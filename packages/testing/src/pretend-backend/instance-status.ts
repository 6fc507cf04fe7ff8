import type { ContainerState, ContainerStatus, DeepReadonly, ProviderPod, ProviderPodStatus } from "@virtual-kubelet/core";
import type { Instance, InstanceContainer } from "./instance.ts";

/** Converts an instance to the report of a provider. */
export function toProviderPod(instance: Instance): ProviderPod {
  return { ref: instance.ref, owner: instance.owner, createdAt: timestamp(instance.createdAtMs), status: toProviderPodStatus(instance) };
}

/** Status of the instance's pod: Pending until it runs, Running until all containers have ended. */
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
      // An instance that is stopped before it runs never ran.
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

/** Init containers end at the moment when the other containers start. */
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
    // Contains the instance's id, so that a test can identify the instance through the API.
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
