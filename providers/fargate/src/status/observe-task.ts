import type { Container, ContainerStatus, DeepReadonly, Pod, ProviderPodStatus } from "@virtual-kubelet/core";
import { isSidecar, shouldRestart } from "@virtual-kubelet/kubernetes";
import type { Observation, ObserveContext, Progress } from "@virtual-kubelet/remote-pods";
import type { EcsTask } from "../aws/ecs-objects.ts";
import { filesContainerName } from "../task/files-container.ts";
import { pauseContainerName } from "../task/pause-container.ts";
import { containerStatusOf } from "./container-state.ts";
import { remember, type TaskMemory } from "./task-memory.ts";
import { stopCauseOf, type StopCause } from "./stop-cause.ts";

/** Outcome of a stopped task. */
type Outcome =
  /** Kubernetes expects the pod to run again. */
  | { readonly kind: "again" }
  | { readonly kind: "final"; readonly phase: "Succeeded" | "Failed"; readonly reason?: string; readonly message?: string };

/** Translates a task to a status. Pure. Source of the states: Amazon ECS Developer Guide, "Task lifecycle". */
export function observeTask(
  task: EcsTask,
  { pod, memory: before = {}, nowMs, isEnding }: ObserveContext<TaskMemory>,
): Observation<TaskMemory> {
  const memory = remember(task, { memory: before, pod, nowMs });
  const { init, regular } = containersOf(task, pod);
  const byName = new Map(task.containers.map((container) => [container.name, container]));
  const initContainerStatuses = init.map((container) =>
    containerStatusOf(container, byName.get(container.name), { task, memory, isInit: !isSidecar(container) }),
  );
  const containerStatuses = withInitialization(
    regular.map((container) => containerStatusOf(container, byName.get(container.name), { task, memory, isInit: false })),
    initContainerStatuses,
    init,
  );
  const statuses = {
    ...addressesOf(task),
    containerStatuses,
    ...(init.length > 0 && { initContainerStatuses }),
  };
  const hasRun = containerStatuses.some(({ state }) => state?.running ?? state?.terminated);
  const common = { createdAt: task.createdAt, memory };
  if (task.lastStatus !== "STOPPED")
    return {
      ...common,
      progress: progressOf(task, containerStatuses, pod),
      status: { ...statuses, phase: hasRun ? "Running" : "Pending" },
    };
  const cause = stopCauseOf(task);
  const outcome = outcomeOf(cause, { pod: isEnding ? undefined : pod, init, regular, initContainerStatuses, containerStatuses });
  if (outcome.kind === "final") {
    const { phase, reason, message } = outcome;
    return {
      ...common,
      progress: "ended",
      status: { ...statuses, phase, ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) },
    };
  }
  const message = "message" in cause ? cause.message : undefined;
  const status: ProviderPodStatus = {
    ...statuses,
    phase: hasRun && cause.kind !== "pull" ? "Running" : "Pending",
    ...(message !== undefined && { message }),
  };
  return { ...common, progress: "ended", status, needsNewObject: true };
}

function containersOf(
  task: EcsTask,
  pod: DeepReadonly<Pod> | undefined,
): { readonly init: readonly DeepReadonly<Container>[]; readonly regular: readonly DeepReadonly<Container>[] } {
  if (pod?.spec) return { init: pod.spec.initContainers ?? [], regular: pod.spec.containers };
  const own = task.containers.filter(({ name }) => name !== pauseContainerName && name !== filesContainerName);
  return { init: [], regular: own.map(({ name, image = "" }) => ({ name, image })) };
}

/** Containers that wait for an init container say so. */
function withInitialization(
  statuses: readonly ContainerStatus[],
  initStatuses: readonly ContainerStatus[],
  init: readonly DeepReadonly<Container>[],
): ContainerStatus[] {
  const isInitialized = init.every((container, index) => isSidecar(container) || initStatuses[index]?.state?.terminated?.exitCode === 0);
  return statuses.map((status) =>
    isInitialized || status.state?.waiting?.reason !== "ContainerCreating"
      ? status
      : { ...status, state: { waiting: { ...status.state.waiting, reason: "PodInitializing" } } },
  );
}

function progressOf(task: EcsTask, statuses: readonly ContainerStatus[], pod: DeepReadonly<Pod> | undefined): Progress {
  switch (task.lastStatus) {
    case "PROVISIONING":
    case "PENDING":
    case "ACTIVATING":
      return task.desiredStatus === "STOPPED" ? "ending" : "starting";
    case "DEACTIVATING":
    case "STOPPING":
    case "DEPROVISIONING":
      return "ending";
    default:
      if (task.desiredStatus === "STOPPED" || statuses.some(({ state }) => state?.terminated)) return "ending";
      return statuses.some(({ state, name, started }) => !state?.running || !started || isUnhealthy(task, name, pod))
        ? "starting"
        : "running";
  }
}

/** Whether the health of a container is still to come, or bad. */
function isUnhealthy(task: EcsTask, name: string, pod: DeepReadonly<Pod> | undefined): boolean {
  const container = pod?.spec?.containers.find((each) => each.name === name);
  const isProbed = Boolean(container?.livenessProbe?.exec ?? container?.readinessProbe?.exec);
  return isProbed && task.containers.find((each) => each.name === name)?.healthStatus !== "HEALTHY";
}

interface OutcomeContext {
  /** `undefined` if the pod is not expected to run again. */
  readonly pod: DeepReadonly<Pod> | undefined;
  readonly init: readonly DeepReadonly<Container>[];
  readonly regular: readonly DeepReadonly<Container>[];
  readonly initContainerStatuses: readonly ContainerStatus[];
  readonly containerStatuses: readonly ContainerStatus[];
}

function outcomeOf(cause: StopCause, context: OutcomeContext): Outcome {
  const { pod } = context;
  const mayRestart = pod !== undefined && pod.spec?.restartPolicy !== "Never";
  switch (cause.kind) {
    case "pull":
    case "capacity":
      // As with a kubelet, the pod waits for its images whatever its restart policy is.
      return pod ? { kind: "again" } : { kind: "final", phase: "Failed", message: cause.message };
    case "start":
      return mayRestart ? { kind: "again" } : { kind: "final", phase: "Failed", reason: "ContainerCannotRun", message: cause.message };
    case "spot":
      return { kind: "final", phase: "Failed", reason: "SpotInterruption", message: cause.message };
    case "machine":
      return { kind: "final", phase: "Failed", reason: "NodeLost", message: cause.message };
    case "outside":
      return { kind: "final", phase: "Failed", reason: "StoppedExternally", message: cause.message };
    case "own":
      if (cause.stop === "deadline")
        return {
          kind: "final",
          phase: "Failed",
          reason: "DeadlineExceeded",
          message: "Pod was active on the node longer than the specified deadline",
        };
      if (cause.stop === "unhealthy" || cause.stop === "startup")
        return mayRestart
          ? { kind: "again" }
          : { kind: "final", phase: "Failed", message: `a ${cause.stop === "startup" ? "startup" : "liveness"} probe failed` };
      return outcomeOfExits(context);
    case "exit":
      return outcomeOfExits(context);
    default:
      return cause satisfies never;
  }
}

function outcomeOfExits({ pod, init, regular, initContainerStatuses, containerStatuses }: OutcomeContext): Outcome {
  const codeOf = (status: ContainerStatus | undefined): number => status?.state?.terminated?.exitCode ?? 1;
  const failedInit = init.find((container, index) => !isSidecar(container) && codeOf(initContainerStatuses[index]) !== 0);
  if (failedInit && initContainerStatuses.length > 0)
    return pod !== undefined && pod.spec?.restartPolicy !== "Never"
      ? { kind: "again" }
      : { kind: "final", phase: "Failed", message: `init container ${failedInit.name} failed` };
  if (pod?.spec && regular.some((container, index) => shouldRestart(container, pod.spec ?? {}, codeOf(containerStatuses[index]))))
    return { kind: "again" };
  return { kind: "final", phase: containerStatuses.every((status) => codeOf(status) === 0) ? "Succeeded" : "Failed" };
}

/** Addresses of the task's network interface. */
function addressesOf({ attachments }: EcsTask): Pick<ProviderPodStatus, "podIP" | "podIPs"> {
  const details = attachments.flatMap(({ type, details: all }) => (type === "ElasticNetworkInterface" ? all : []));
  const find = (wanted: string): string[] => details.flatMap(({ name, value }) => (name === wanted && value ? [value] : []));
  const addresses = [...find("privateIPv4Address").slice(0, 1), ...find("ipv6Address").slice(0, 1)];
  const [first] = addresses;
  return first === undefined ? {} : { podIP: first, podIPs: addresses.map((ip) => ({ ip })) };
}
