import type { Container, ContainerState, ContainerStatus, DeepReadonly, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import { allContainersCouldRestart, isSidecar, shouldRestart } from "@virtual-kubelet/kubernetes";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { canonicalState, canonicalContainerStatus } from "./canonical-status.ts";
import { isForWindows, type SpecifiedContainer } from "./container-status-parts.ts";
import { isTerminalPhase } from "./pod-phase.ts";
import { containerMessageBytes } from "./status-text.ts";

/** The three lists of a pod's status. */
export type ContainerStatusLists = Pick<PodStatus, "initContainerStatuses" | "containerStatuses" | "ephemeralContainerStatuses">;

/** Termination state of containers that still count as running, or not yet started, when the pod has ended. */
export interface ContainerEnding {
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
  /** Containers that never started and also end: none, those missing from the report, or all. */
  readonly neverStarted: "wait" | "endUnreported" | "end";
}

export interface ContainerStatusesInput {
  readonly pod: DeepReadonly<Pod>;
  readonly reported: ProviderPodStatus;
  /** Set if the pod has ended, whatever the states of single containers in the report. */
  readonly ending?: ContainerEnding | undefined;
  /** Current time in the API's format. */
  readonly now: string;
}

/** All inputs for the status of one container. */
interface ContainerView extends SpecifiedContainer {
  readonly reported: DeepReadonly<ContainerStatus> | undefined;
  readonly stored: DeepReadonly<ContainerStatus> | undefined;
  readonly input: ContainerStatusesInput;
  readonly messageBytes: number;
}

/**
 * Returns one status for each container of the spec, as a kubelet would write it. Reported statuses are normalized, and other containers
 * wait. Restart counts never fall, a container that may not be started again stays terminated, and the termination state of the last run
 * is kept.
 * Source: convertToAPIContainerStatuses in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go.
 */
export function containerStatuses(input: ContainerStatusesInput): ContainerStatusLists {
  const { pod } = input;
  const spec = pod.spec ?? { containers: [] };
  const status = pod.status ?? {};
  const count = spec.containers.length + (spec.initContainers?.length ?? 0) + (spec.ephemeralContainers?.length ?? 0);
  const shared = { input, messageBytes: containerMessageBytes(count), isWindows: isForWindows(pod) };

  const list = (
    kind: SpecifiedContainer["kind"],
    containers: readonly DeepReadonly<Container>[] | undefined,
    reports: readonly DeepReadonly<ContainerStatus>[] | undefined,
    held: readonly DeepReadonly<ContainerStatus>[] | undefined,
  ): ContainerStatus[] | undefined => {
    if (!containers?.length) return undefined;
    const statuses = containers.map((container) =>
      statusOf({ ...shared, kind, container, reported: named(container.name, reports), stored: named(container.name, held) }),
    );
    return kind === "init" ? statuses : statuses.sort((a, b) => (a.name < b.name ? -1 : 1));
  };
  return {
    initContainerStatuses: list("init", spec.initContainers, input.reported.initContainerStatuses, status.initContainerStatuses),
    containerStatuses: list("main", spec.containers, input.reported.containerStatuses, status.containerStatuses),
    ephemeralContainerStatuses: list(
      "ephemeral",
      spec.ephemeralContainers,
      input.reported.ephemeralContainerStatuses,
      status.ephemeralContainerStatuses,
    ),
  };
}

/** Returns the status of the container of that name; of duplicates, the first. */
function named(
  container: string,
  statuses: readonly DeepReadonly<ContainerStatus>[] | undefined,
): DeepReadonly<ContainerStatus> | undefined {
  return statuses?.find(({ name }) => name === container);
}

function statusOf(view: ContainerView): ContainerStatus {
  const { container, stored, messageBytes } = view;
  const source = believed(view) ?? { ...waitingAgain(view), name: container.name };
  const read = canonicalContainerStatus(source, messageBytes, view);
  const base = {
    ...read,
    image: read.image || container.image || "",
    restartCount: Math.max(read.restartCount, stored?.restartCount ?? 0),
  };
  const state = stateOf(view, base);
  // A container that waits when the pod ends gets the state of its previous run, which is then no longer its `lastState`.
  const isLastRun = state.terminated !== undefined && base.state?.waiting !== undefined;
  const terminated = isLastRun ? undefined : lastTermination(view, { ...base, state });
  return { ...base, ...readiness(view, base, state), state, lastState: terminated ? { terminated } : {} };
}

/** Returns the status to use: the report, or the stored status if the report lacks it or is impossible. */
function believed(view: ContainerView): DeepReadonly<ContainerStatus> | undefined {
  const { reported, stored } = view;
  if (stored?.state?.terminated && !reported?.state?.terminated) {
    return reported && mayLeaveTerminated(view, stored.state.terminated.exitCode) ? reported : stored;
  }
  if (reported) return reported;
  // A container that ran and will not be started again does not count as dead because a report lacks it.
  const isLast = view.input.pod.metadata?.deletionTimestamp !== undefined || !restartsAfter(view, 137);
  if (stored?.state?.running && isLast) return { ...stored, ready: false };
  return undefined;
}

/**
 * Whether a terminated container may leave that state; otherwise the API server refuses the status.
 * Source: ValidateContainerStateTransition in kubernetes v1.36.3 pkg/apis/core/validation.
 */
function mayLeaveTerminated(view: ContainerView, exitCode: number): boolean {
  const { kind, input } = view;
  const { spec, status } = input.pod;
  const isRestartedByOther =
    kind !== "ephemeral" && !isTerminalPhase(status?.phase) && spec !== undefined && allContainersCouldRestart(spec);
  return isRestartedByOther || restartsAfter(view, exitCode);
}

/** Whether a container of a pod that has not ended is started again by its own rules after it has ended with this exit code. */
function restartsAfter({ kind, container, input: { pod } }: ContainerView, exitCode: number): boolean {
  if (kind === "ephemeral" || isTerminalPhase(pod.status?.phase)) return false;
  return shouldRestart(container, pod.spec ?? { containers: [] }, exitCode);
}

/** Returns the status of a container that is missing from the report. */
function waitingAgain({ stored }: ContainerView): Pick<ContainerStatus, "restartCount" | "image" | "imageID" | "ready" | "lastState"> {
  const ran = stored?.state?.running;
  const unknown = ran && {
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "The provider no longer reports the container, which was running",
    startedAt: ran.startedAt,
    containerID: stored.containerID,
  };
  const terminated = stored?.lastState?.terminated ?? unknown;
  return {
    image: "",
    imageID: "",
    ready: false,
    restartCount: stored?.restartCount ?? 0,
    ...(terminated ? { lastState: { terminated } } : {}),
  };
}

/** Returns exactly one of running, terminated and waiting, with all its fields. */
function stateOf(view: ContainerView, status: ContainerStatus): ContainerState {
  const { input, stored, messageBytes } = view;
  // The stored status of the same run completes the report.
  const held = stored && !isNewRun(stored, status) ? stored.state : undefined;
  const { running, waiting } = status.state ?? {};
  const terminated = terminatedState(view, status, held);
  if (terminated) return canonicalState({ terminated }, messageBytes);
  if (running) return canonicalState({ running: { startedAt: running.startedAt ?? held?.running?.startedAt ?? input.now } }, messageBytes);
  return { waiting: { ...waiting, reason: waiting?.reason ?? defaultWaitingReason(input.pod) } };
}

type Terminated = DeepReadonly<NonNullable<ContainerState["terminated"]>>;

function terminatedState(
  view: ContainerView,
  status: ContainerStatus,
  held: DeepReadonly<ContainerState> | undefined,
): Terminated | undefined {
  const { terminated } = status.state ?? {};
  if (!terminated) return view.input.ending && endedState(view, status, view.input.ending);
  return {
    ...terminated,
    startedAt: terminated.startedAt ?? (held?.terminated ?? held?.running)?.startedAt,
    finishedAt: terminated.finishedAt ?? held?.terminated?.finishedAt ?? view.input.now,
    containerID: terminated.containerID ?? status.containerID,
  };
}

/** Returns the termination of a container of an ended pod: that of its last run if it is between two; `undefined` if it stays waiting. */
function endedState({ kind, reported, input }: ContainerView, status: ContainerStatus, ending: ContainerEnding): Terminated | undefined {
  const { now } = input;
  const { exitCode, reason, message } = ending;
  const { running } = status.state ?? {};
  const last = status.lastState?.terminated;
  const isOver = { finishedAt: now, containerID: status.containerID };
  if (running) return { ...isOver, exitCode, reason, message, startedAt: running.startedAt };
  if (last) return { ...last, finishedAt: last.finishedAt ?? now, containerID: last.containerID ?? status.containerID };
  const ends = ending.neverStarted === "end" || (ending.neverStarted === "endUnreported" && !reported);
  return ends && kind !== "ephemeral" ? { ...isOver, exitCode, reason, message } : undefined;
}

/** Returns the termination of the previous run: from the report, otherwise from the stored status. */
function lastTermination({ stored }: ContainerView, status: ContainerStatus): NonNullable<ContainerState["terminated"]> | undefined {
  if (status.lastState?.terminated) return status.lastState.terminated;
  const before = canonicalState(stored?.state, Number.MAX_SAFE_INTEGER).terminated;
  const isOver = before && (!status.state?.terminated || (stored && isNewRun(stored, status)));
  return isOver ? before : canonicalState(stored?.lastState, Number.MAX_SAFE_INTEGER).terminated;
}

/** Whether a status is that of a later run of the container than the stored one. */
function isNewRun(stored: DeepReadonly<ContainerStatus>, status: ContainerStatus): boolean {
  if (status.restartCount > stored.restartCount) return true;
  return Boolean(stored.containerID && status.containerID) && stored.containerID !== status.containerID;
}

/** Source: UpdatePodStatus in kubernetes v1.36.3 pkg/kubelet/prober/prober_manager.go. */
function readiness(
  { kind, container }: ContainerView,
  base: ContainerStatus,
  state: ContainerState,
): Pick<ContainerStatus, "ready" | "started"> {
  const isRunning = state.running !== undefined;
  if (kind === "ephemeral") return { ready: false, started: undefined };
  if (kind === "init" && !isSidecar(container)) return { ready: state.terminated?.exitCode === 0, started: isRunning };
  const started = isRunning && (base.started ?? (base.ready || !container.startupProbe));
  return { ready: started && base.ready, started };
}

/** Returns the waiting reason of a container of which nothing is known yet. */
function defaultWaitingReason(pod: DeepReadonly<Pod>): string {
  return pod.spec?.initContainers?.length ? "PodInitializing" : "ContainerCreating";
}
