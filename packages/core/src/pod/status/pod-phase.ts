import type { Container, ContainerStatus, DeepReadonly, Pod, PodSpec } from "@virtual-kubelet/kube-client";
import { isSidecar, shouldRestart } from "@virtual-kubelet/kubernetes";

/** The phases that a kubelet writes. */
export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed";

/** Whether a phase is final: a pod never leaves it. */
export function isTerminalPhase(phase: string | undefined): phase is "Succeeded" | "Failed" {
  return phase === "Succeeded" || phase === "Failed";
}

/** The container statuses of a pod, init containers and containers together; names are unique in a pod. */
export type StatusByName = ReadonlyMap<string, DeepReadonly<ContainerStatus>>;

/**
 * Computes the phase from the container statuses: Pending until the init containers have succeeded and every
 * container has been started, Running while one runs or will be started again, then Succeeded or Failed.
 *
 * @param isEnding - whether the pod is being deleted: no terminated container is started again, but one that waits for its
 * next start may still be started
 * Source: getPhase in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go.
 */
export function computePhase(pod: DeepReadonly<Pod>, statuses: StatusByName, isEnding: boolean): PodPhase {
  const spec = pod.spec ?? { containers: [] };
  const init = countInitContainers(spec, statuses);
  if (init.failed) return "Failed";
  const main = countContainers(spec, statuses);
  const sidecars = countSidecars(spec, statuses);
  const running = main.running + sidecars.running;
  const unknown = main.unknown + sidecars.unknown;
  const hasInitialized = main.running + main.stopped > 0;

  if (init.pending || (sidecars.pending && !hasInitialized) || main.waiting + sidecars.waiting > 0 || unknown > 0) return "Pending";
  if (running > 0) return "Running";
  if (main.stopped === 0) return "Pending";
  if ((isEnding ? main.waitingAgain : main.restarting) > 0) return "Running";
  return main.stopped === main.succeeded ? "Succeeded" : "Failed";
}

function countInitContainers(spec: DeepReadonly<PodSpec>, statuses: StatusByName): { pending: boolean; failed: boolean } {
  let pending = false;
  let failed = false;
  for (const container of spec.initContainers ?? []) {
    if (isSidecar(container)) continue;
    const exitCode = lastExitCode(statuses.get(container.name));
    if (exitCode === undefined) pending = true;
    else if (hasFailedForGood(container, spec, exitCode)) failed = true;
  }
  return { pending, failed };
}

/** Whether a container that ended with this exit code has failed and is not started again. As an init container it ends its pod. */
export function hasFailedForGood(container: DeepReadonly<Container>, spec: DeepReadonly<PodSpec>, exitCode: number): boolean {
  return exitCode !== 0 && !shouldRestart(container, spec, exitCode);
}

function countSidecars(
  spec: DeepReadonly<PodSpec>,
  statuses: StatusByName,
): { pending: boolean; running: number; waiting: number; unknown: number } {
  const count = { pending: false, running: 0, waiting: 0, unknown: 0 };
  for (const container of spec.initContainers ?? []) {
    if (!isSidecar(container)) continue;
    const status = statuses.get(container.name);
    if (status?.state?.running) {
      count.running++;
      if (status.started !== true) count.pending = true;
    } else if (!status) {
      count.unknown++;
    } else if (lastExitCode(status) === undefined) {
      count.pending = true;
      count.waiting++;
    }
  }
  return count;
}

interface ContainerCount {
  running: number;
  waiting: number;
  stopped: number;
  /** Of the stopped ones, those that will be started again. */
  restarting: number;
  /** Of the stopped ones, those that wait for their next start already. */
  waitingAgain: number;
  /** Of the stopped ones, those with exit code 0. */
  succeeded: number;
  unknown: number;
}

function countContainers(spec: DeepReadonly<PodSpec>, statuses: StatusByName): ContainerCount {
  const count: ContainerCount = { running: 0, waiting: 0, stopped: 0, restarting: 0, waitingAgain: 0, succeeded: 0, unknown: 0 };
  for (const container of spec.containers) {
    const status = statuses.get(container.name);
    const exitCode = lastExitCode(status);
    if (!status) count.unknown++;
    else if (status.state?.running) count.running++;
    else if (exitCode === undefined) count.waiting++;
    else {
      count.stopped++;
      if (shouldRestart(container, spec, exitCode)) count.restarting++;
      if (!status.state?.terminated) count.waitingAgain++;
      if (status.state?.terminated?.exitCode === 0) count.succeeded++;
    }
  }
  return count;
}

/** Returns the last exit code of a container that does not run: of its state, or of the run before its wait. */
function lastExitCode(status: DeepReadonly<ContainerStatus> | undefined): number | undefined {
  if (!status || status.state?.running) return undefined;
  return (status.state?.terminated ?? status.lastState?.terminated)?.exitCode;
}
