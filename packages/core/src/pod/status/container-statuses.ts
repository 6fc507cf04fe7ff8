import type { Container, ContainerState, ContainerStatus, DeepReadonly, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import { isSidecar, shouldRestart } from "@virtual-kubelet/kubernetes";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { canonicalState, canonicalContainerStatus } from "./canonical-status.ts";
import { isTerminalPhase } from "./pod-phase.ts";
import { containerMessageBytes } from "./status-text.ts";

/** The three lists of a pod's status. */
export type ContainerStatusLists = Pick<PodStatus, "initContainerStatuses" | "containerStatuses" | "ephemeralContainerStatuses">;

/** What is written of containers that still count as running, or not yet started, when the pod has ended. */
export interface ContainerEnding {
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
  /** Which containers that never started end, too: none, those the report does not name, or all. */
  readonly neverStarted: "wait" | "endUnreported" | "end";
}

export interface ContainerStatusesInput {
  readonly pod: DeepReadonly<Pod>;
  readonly reported: ProviderPodStatus;
  /** The pod has ended, whatever the report says of single containers. */
  readonly ending?: ContainerEnding | undefined;
  /** The time, as the API writes it. */
  readonly now: string;
}

type ListKind = "init" | "main" | "ephemeral";

/** All that the status of one container follows from. */
interface ContainerView {
  readonly kind: ListKind;
  readonly container: DeepReadonly<Container>;
  readonly reported: DeepReadonly<ContainerStatus> | undefined;
  readonly stored: DeepReadonly<ContainerStatus> | undefined;
  readonly input: ContainerStatusesInput;
  readonly messageBytes: number;
}

/**
 * One status for each container of the spec, as a kubelet would write it: reported ones are put in order, the others
 * wait. Restart counts never fall, a container that may not be started again stays terminated, and what the last run
 * ended with is kept.
 * Source: convertToAPIContainerStatuses in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go.
 */
export function containerStatuses(input: ContainerStatusesInput): ContainerStatusLists {
  const { pod } = input;
  const spec = pod.spec ?? { containers: [] };
  const status = pod.status ?? {};
  const count = spec.containers.length + (spec.initContainers?.length ?? 0) + (spec.ephemeralContainers?.length ?? 0);
  const shared = { input, messageBytes: containerMessageBytes(count) };

  const list = (
    kind: ListKind,
    containers: readonly DeepReadonly<Container>[] | undefined,
    reports: readonly DeepReadonly<ContainerStatus>[] | undefined,
    held: readonly DeepReadonly<ContainerStatus>[] | undefined,
  ): ContainerStatus[] | undefined => {
    if (!containers?.length) return undefined;
    const [reported, stored] = [byName(reports), byName(held)];
    const statuses = containers.map((container) =>
      statusOf({ ...shared, kind, container, reported: reported.get(container.name), stored: stored.get(container.name) }),
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

/** Statuses by their container's name; of two, the first. */
function byName(statuses: readonly DeepReadonly<ContainerStatus>[] | undefined): ReadonlyMap<string, DeepReadonly<ContainerStatus>> {
  return new Map(statuses?.toReversed().map((status) => [status.name, status]));
}

function statusOf(view: ContainerView): ContainerStatus {
  const { container, stored, messageBytes } = view;
  const source = believed(view) ?? { ...waitingAgain(view), name: container.name };
  const read = canonicalContainerStatus(source, messageBytes);
  const base = {
    ...read,
    image: read.image || container.image || "",
    restartCount: Math.max(read.restartCount, stored?.restartCount ?? 0),
  };
  const state = stateOf(view, base);
  // A wait that ends with the pod ends as the run before it did, which is then no longer the last one but this.
  const isLastRun = state.terminated !== undefined && base.state?.waiting !== undefined;
  const terminated = isLastRun ? undefined : lastTermination(view, { ...base, state });
  return { ...base, ...readiness(view, base, state), state, lastState: terminated ? { terminated } : {} };
}

/** The status to go by: the report, or what is stored where the report says nothing or what cannot be. */
function believed(view: ContainerView): DeepReadonly<ContainerStatus> | undefined {
  const { reported, stored } = view;
  if (stored?.state?.terminated && !reported?.state?.terminated) {
    return reported && mayLeaveTerminated(view, stored.state.terminated.exitCode) ? reported : stored;
  }
  if (reported) return reported;
  // It ran, and will not be started again: that a report lacks it does not make it dead.
  const isLast = view.input.pod.metadata?.deletionTimestamp !== undefined || !mayLeaveTerminated(view, 137);
  if (stored?.state?.running && isLast) return { ...stored, ready: false };
  return undefined;
}

/**
 * Whether a container that ended may be anything else again; the API server refuses it otherwise.
 * Source: ValidateContainerStateTransition in kubernetes v1.36.3 pkg/apis/core/validation.
 */
function mayLeaveTerminated({ kind, container, input: { pod } }: ContainerView, exitCode: number): boolean {
  if (kind === "ephemeral" || isTerminalPhase(pod.status?.phase)) return false;
  return shouldRestart(container, pod.spec ?? { containers: [] }, exitCode);
}

/** The status of a container the report does not name. */
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

/** Exactly one of running, terminated and waiting, with all its fields. */
function stateOf(view: ContainerView, status: ContainerStatus): ContainerState {
  const { input, stored, messageBytes } = view;
  // What the stored status tells of this very run fills in what the report leaves out.
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

/** How a container ends whose pod has ended: as its last run, if it is between two; `undefined` if it goes on waiting. */
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

/** What the run before this one ended with: as reported, else as far as the stored status tells. */
function lastTermination({ stored }: ContainerView, status: ContainerStatus): NonNullable<ContainerState["terminated"]> | undefined {
  if (status.lastState?.terminated) return status.lastState.terminated;
  const before = canonicalState(stored?.state, Number.MAX_SAFE_INTEGER).terminated;
  const isOver = before && (!status.state?.terminated || (stored && isNewRun(stored, status)));
  return isOver ? before : canonicalState(stored?.lastState, Number.MAX_SAFE_INTEGER).terminated;
}

/** Whether a status tells of a later run of the container than the stored one. */
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

/** Why a container waits of which nothing is known yet. */
function defaultWaitingReason(pod: DeepReadonly<Pod>): string {
  return pod.spec?.initContainers?.length ? "PodInitializing" : "ContainerCreating";
}
