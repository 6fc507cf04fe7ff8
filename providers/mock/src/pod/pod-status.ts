import type { PodRef, ProviderPodStatus, ContainerState as ApiState, ContainerStatus } from "@virtual-kubelet/core";
import type { Container, FinishedRun } from "../container/container-state.ts";
import { hasEnded, phaseOf, type PodModel } from "./pod-model.ts";

export interface StatusContext {
  readonly ref: PodRef;
  readonly podIP: string | undefined;
  /** Whether the pod was deleted. */
  readonly deleted: boolean;
}

/** Status of a pod as a provider reports it. Conditions are added by core. */
export function toPodStatus(pod: PodModel, { ref, podIP, deleted }: StatusContext): ProviderPodStatus {
  const statuses = (...roles: Container["role"][]): ContainerStatus[] =>
    pod.containers.filter(({ role }) => roles.includes(role)).map((container) => toContainerStatus(container, ref.uid));
  const inits = statuses("init", "sidecar");
  const ephemeral = statuses("ephemeral");
  const hasSandbox = pod.containers.some(({ state }) => state.kind !== "blocked" && state.kind !== "creating");
  return {
    phase: phaseOf(pod),
    // Source: virtual-kubelet v1.13 cmd/virtual-kubelet/internal/provider/mock/mock.go (7b1385b), DeletePod.
    ...(deleted && hasEnded(pod) && { reason: "MockProviderPodDeleted" }),
    ...(podIP !== undefined && hasSandbox && { podIP, podIPs: [{ ip: podIP }] }),
    containerStatuses: statuses("app"),
    ...(inits.length > 0 && { initContainerStatuses: inits }),
    ...(ephemeral.length > 0 && { ephemeralContainerStatuses: ephemeral }),
  };
}

function toContainerStatus(container: Container, uid: string): ContainerStatus {
  const { name, image, role, state, restartCount, lastRun } = container;
  const id = `mock://${uid}/${name}/${restartCount}`;
  const running = state.kind === "running";
  const succeeded = state.kind === "exited" && state.run.exitCode === 0;
  const hasRun = running || state.kind === "exited" || lastRun !== undefined;
  return {
    name,
    image,
    imageID: image,
    ...(hasRun && { containerID: id }),
    // As in a kubelet, a completed init container is ready, and an ephemeral one never is.
    ready: role === "init" ? succeeded : role !== "ephemeral" && running && state.ready,
    started: running,
    restartCount,
    state: toApiState(container, id),
    lastState:
      lastRun && state.kind !== "exited"
        ? { terminated: toTerminated(lastRun, `mock://${uid}/${name}/${restartCount - (running ? 1 : 0)}`) }
        : {},
  };
}

function toApiState({ state, image }: Container, containerID: string): ApiState {
  switch (state.kind) {
    case "blocked":
      return { waiting: { reason: "PodInitializing" } };
    case "creating":
      return { waiting: { reason: "ContainerCreating" } };
    case "pullFailed":
      return { waiting: { reason: "ErrImagePull", message: `failed to pull image ${JSON.stringify(image)}, as scripted` } };
    case "pullBackOff":
      return { waiting: { reason: "ImagePullBackOff", message: `Back-off pulling image ${JSON.stringify(image)}` } };
    case "createFailed":
      return { waiting: { reason: "CreateContainerError", message: "failed as scripted" } };
    case "crashLoop":
      return { waiting: { reason: "CrashLoopBackOff", message: `back-off ${formatDelay(state.delayMs)} restarting failed container` } };
    case "running":
      return { running: { startedAt: state.startedAt } };
    case "exited":
      return { terminated: toTerminated(state.run, containerID) };
    default:
      return state satisfies never;
  }
}

function toTerminated(
  { startedAt, finishedAt, exitCode, reason, message }: FinishedRun,
  containerID: string,
): NonNullable<ApiState["terminated"]> {
  return { exitCode, reason, ...(message !== undefined && { message }), startedAt, finishedAt, containerID };
}

/** Formats a duration like Go: `10s`, `2m40s`. */
function formatDelay(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
