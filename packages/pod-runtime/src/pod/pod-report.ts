import {
  computePhase,
  isTerminalPhase,
  type ContainerState,
  type ContainerStatus,
  type DeepReadonly,
  type PodCondition,
  type PodPhase,
  type ProviderPodStatus,
} from "@virtual-kubelet/core";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { instanceOf, isLive, isUp, newContainer, troubleOf, type ContainerRecord, type Termination } from "./container-life.ts";
import type { ContainerRole, DesiredContainer } from "./desired-pod.ts";
import type { PodStage, PodState } from "./pod-state.ts";
import { isShown } from "./whole-pod.ts";
import { allocatedResources } from "./whole-resources.ts";

/**
 * The pod's status as a provider reports it. A phase is final only when nothing of the pod runs and its sandbox has stopped, so that its
 * ports and addresses are free. Source: mergePodStatus in kubernetes v1.36.3 pkg/kubelet/status/status_manager.go.
 *
 * @param scheme - scheme of container ids, such as `docker`
 */
export function podReport(state: PodState, scheme: string): ProviderPodStatus {
  const { stage, ending, desired } = state;
  const isStopped = [...state.containers.values()].every(({ life }) => !isLive(life)) && !holdsNetwork(state);
  const ips = stage.kind === "up" ? stage.ips : [];
  const list = (...roles: ContainerRole[]): readonly DeepReadonly<ContainerStatus>[] =>
    desired.containers.filter(({ role }) => roles.includes(role)).map((container) => containerStatus(state, container, scheme));
  const [initContainerStatuses, containerStatuses] = [list("init", "sidecar"), list("main")];
  const computed = computePhase(
    desired.pod,
    new Map([...initContainerStatuses, ...containerStatuses].map((status) => [status.name, status])),
    ending !== undefined,
  );
  const hasFailed = ending?.why === "failed" && isStopped;
  return {
    ...(hasFailed ? { phase: "Failed", reason: ending.reason, message: ending.message } : { phase: phaseOf(computed, state, isStopped) }),
    podIP: ips[0],
    podIPs: ips.map((ip) => ({ ip })),
    conditions: conditions(state),
    initContainerStatuses,
    containerStatuses,
    ephemeralContainerStatuses: list("ephemeral"),
    ...(desired.pod.spec?.resources && { resources: state.whole.resources, allocatedResources: allocatedResources(desired.pod) }),
    endsWhenGone: true,
  };
}

/**
 * Whether the pod's sandbox may hold ports and addresses of the node. A pod with a final phase holds none, even if an earlier program wrote
 * the phase.
 */
export function holdsNetwork({ stage, desired }: Pick<PodState, "stage" | "desired">): boolean {
  return !isTerminalPhase(desired.pod.status?.phase) && !withoutSandbox.includes(stage.kind);
}

const withoutSandbox: readonly PodStage["kind"][] = ["finished", "removing", "gone"];

/** A pod has not ended while its sidecars or its sandbox run. */
function phaseOf(computed: PodPhase, { desired, containers }: PodState, isStopped: boolean): PodPhase {
  if (!isTerminalPhase(computed) || isStopped) return computed;
  const hasRun = desired.containers.some(({ name, role }) => role === "main" && containers.get(name)?.lastTermination);
  return hasRun ? "Running" : "Pending";
}

/** Conditions that core cannot derive from the containers. */
function conditions({ stage, containers, whole, ending }: PodState): PodCondition[] {
  const ofPod = !ending && isShown(whole) ? [whole.change ?? {}] : [];
  const resizes: { readonly message?: string | undefined }[] = [
    ...[...containers.values()].flatMap(({ resize }) => resize ?? []),
    ...ofPod,
  ];
  const failed = resizes.find(({ message }) => message !== undefined);
  return [
    { type: "PodReadyToStartContainers", status: stage.kind === "up" ? "True" : "False" },
    ...(resizes.length === 0
      ? []
      : [{ type: "PodResizeInProgress", status: "True", ...(failed && { reason: "Error", message: failed.message }) }]),
    // Source: synchronize in kubernetes v1.36.3 pkg/kubelet/eviction/eviction_manager.go.
    ...(ending?.isDisruption
      ? [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message: ending.message }]
      : []),
  ];
}

function containerStatus(state: PodState, desired: DesiredContainer, scheme: string): DeepReadonly<ContainerStatus> {
  const record = state.containers.get(desired.name) ?? newContainer;
  const { life } = record;
  const shown = shownState(state, record, scheme);
  const isShown = isUp(life);
  const last = shown.terminated || (shown.running && !isShown) ? record.previousTermination : record.lastTermination;
  const id = isShown ? instanceOf(life)?.id : record.lastTermination?.id;
  return {
    name: desired.name,
    image: record.image?.name ?? desired.container.image ?? "",
    imageID: record.image?.id ?? "",
    containerID: id === undefined ? undefined : `${scheme}://${id}`,
    restartCount: restartCount(record),
    ready: isShown ? life.isReady : desired.role === "init" && record.isInitialized,
    started: isShown && life.isStarted,
    state: shown,
    lastState: last ? { terminated: terminated(last, scheme) } : {},
    ...(isShown ? whatItRunsWith(desired, record) : {}),
    ...(id === undefined ? {} : { volumeMounts: volumeMounts(desired) }),
  };
}

function whatItRunsWith(
  { container }: DesiredContainer,
  { resources, user }: ContainerRecord,
): Pick<DeepReadonly<ContainerStatus>, "resources" | "allocatedResources" | "user"> {
  return { resources: resources ?? {}, allocatedResources: container.resources?.requests, ...(user && { user: { linux: user } }) };
}

/** Mounts in a kubelet's form: `recursiveReadOnly` only if the spec sets it. */
function volumeMounts({ container: { volumeMounts: mounts } }: DesiredContainer): DeepReadonly<ContainerStatus>["volumeMounts"] {
  return mounts?.map(({ name, mountPath, readOnly, recursiveReadOnly }) => ({
    name,
    mountPath,
    ...(readOnly ? { readOnly, recursiveReadOnly: recursiveReadOnly === "Enabled" ? "Enabled" : "Disabled" } : {}),
  }));
}

/** A start that has not succeeded yet does not count. */
function restartCount({ life, attempt }: ContainerRecord): number {
  return Math.max(0, isLive(life) && !isUp(life) ? attempt - 1 : attempt);
}

function shownState(state: PodState, record: ContainerRecord, scheme: string): ContainerState {
  const { life, lastTermination } = record;
  if (isUp(life)) return { running: { startedAt: rfc3339(life.instance.startedAtMs) } };
  const trouble = troubleOf(record);
  if (trouble) return { waiting: { reason: trouble.reason, message: trouble.message } };
  // Like a kubelet, reports no state between the end and the next start.
  if (record.isReplaced && life.kind !== "ended" && lastTermination?.startedAtMs !== undefined)
    return { running: { startedAt: rfc3339(lastTermination.startedAtMs) } };
  if (lastTermination) return { terminated: terminated(lastTermination, scheme) };
  const hasInit = (state.desired.pod.spec?.initContainers?.length ?? 0) > 0;
  return { waiting: { reason: hasInit ? "PodInitializing" : "ContainerCreating" } };
}

function terminated(termination: Termination, scheme: string): NonNullable<ContainerState["terminated"]> {
  const { exitCode, reason, message, startedAtMs, finishedAtMs, id } = termination;
  return {
    exitCode,
    reason,
    message,
    startedAt: startedAtMs === undefined ? undefined : rfc3339(startedAtMs),
    finishedAt: rfc3339(finishedAtMs),
    containerID: id === undefined ? undefined : `${scheme}://${id}`,
  };
}
