import type { Clock, DeepReadonly, Owner, Pod, PodRef, ProviderPodStatus } from "@virtual-kubelet/core";

/** Role of a container in its pod. A sidecar is an init container with `restartPolicy: Always`. */
type ContainerRole = "init" | "sidecar" | "main";

/** State of a container. */
export type ContainerState =
  | { readonly kind: "waiting" }
  | { readonly kind: "running"; readonly startedMs: number }
  | {
      readonly kind: "ended";
      readonly startedMs: number | undefined;
      readonly endedMs: number;
      readonly exitCode: number;
      /** It is between two runs. */
      readonly isRestarting: boolean;
    };

/** One container of an instance. */
export interface ContainerRun {
  readonly name: string;
  readonly role: ContainerRole;
  readonly restarts: number;
  readonly state: ContainerState;
}

/** State of an instance. */
type InstanceState =
  | { readonly kind: "starting" }
  | { readonly kind: "running" }
  /** Told to end, or its main containers are through; what still runs ends by itself or is killed, then. */
  | { readonly kind: "stopping"; readonly endsMs: number; readonly isTold: boolean }
  | { readonly kind: "ended"; readonly endedMs: number; readonly exitCode: number; readonly hasAddress: boolean };

/** Instance of a pod on the back end. */
export interface Instance {
  readonly id: string;
  readonly ref: PodRef;
  readonly owner: Owner;
  readonly podIP: string;
  readonly createdMs: number;
  readonly restartPolicy: string;
  /** Made by a call that had come back, or whose program was gone: nobody could know of it. */
  readonly isLate: boolean;
  /** The pod as it was last given. */
  readonly applied: DeepReadonly<Pod>;
  /** Number of the call that gave it; see `BackEnd.nextCall`. */
  readonly appliedBy: number;
  readonly containers: readonly ContainerRun[];
  readonly state: InstanceState;
}

/** How a back end tells of its instances. */
export interface StatusStyle {
  /** Whether it has a word for a pod's phase, or tells of containers alone. */
  readonly saysPhase: boolean;
  /** Reported state of a container between two runs. */
  readonly betweenRuns: "terminated" | "waiting";
  /** Whether a deleted pod ends only when it is gone. Requires {@link saysPhase}: no containers tell that such a pod has ended. */
  readonly endsWhenGone: boolean;
}

/** Whether anything of the pod may still run. */
export function isLive({ state }: Instance): boolean {
  return state.kind !== "ended";
}

/** Id of a container's run, as it is reported. */
export function containerIdOf({ id }: Pick<Instance, "id">, { name, restarts }: Pick<ContainerRun, "name" | "restarts">): string {
  return `sim://${id}/${name}/${restarts}`;
}

/** The containers of a pod that was just created. */
export function containersOf({ spec }: DeepReadonly<Pod>): readonly ContainerRun[] {
  const run = (name: string, role: ContainerRole): ContainerRun => ({ name, role, restarts: 0, state: { kind: "waiting" } });
  return [
    ...(spec?.initContainers ?? []).map(({ name, restartPolicy }) => run(name, restartPolicy === "Always" ? "sidecar" : "init")),
    ...(spec?.containers ?? []).map(({ name }) => run(name, "main")),
  ];
}

/** Converts an instance to the provider's report. */
export function statusOf(instance: Instance, clock: Clock, style: StatusStyle): ProviderPodStatus {
  const { podIP, containers } = instance;
  const statuses = (isListed: (role: ContainerRole) => boolean): NonNullable<ProviderPodStatus["containerStatuses"]> =>
    containers.filter(({ role }) => isListed(role)).map((run) => containerStatusOf(instance, run, { clock, style }));
  const initContainerStatuses = statuses((role) => role !== "main");
  return {
    ...(style.saysPhase && { phase: phaseOf(instance) }),
    ...(style.endsWhenGone && { endsWhenGone: true }),
    podIP,
    podIPs: [{ ip: podIP }],
    ...(initContainerStatuses.length > 0 && { initContainerStatuses }),
    containerStatuses: statuses((role) => role === "main"),
  };
}

function phaseOf({ state, containers }: Instance): "Pending" | "Running" | "Succeeded" | "Failed" {
  if (state.kind === "ended" && !state.hasAddress) return state.exitCode === 0 ? "Succeeded" : "Failed";
  return containers.some((run) => run.role === "main" && run.state.kind === "waiting") ? "Pending" : "Running";
}

function containerStatusOf(
  instance: Instance,
  run: ContainerRun,
  { clock, style }: { readonly clock: Clock; readonly style: StatusStyle },
): NonNullable<ProviderPodStatus["containerStatuses"]>[number] {
  const { name, restarts, state } = run;
  const at = (monotonicMs: number): string => `${new Date(clock.now() - clock.monotonic() + monotonicMs).toISOString().slice(0, 19)}Z`;
  const containerID = containerIdOf(instance, run);
  const { containers = [], initContainers = [] } = instance.applied.spec ?? {};
  const image = [...initContainers, ...containers].find((container) => container.name === name)?.image ?? "";
  const terminated =
    state.kind === "ended"
      ? {
          exitCode: state.exitCode,
          reason: state.exitCode === 0 ? "Completed" : "Error",
          finishedAt: at(state.endedMs),
          containerID,
          ...(state.startedMs !== undefined && { startedAt: at(state.startedMs) }),
        }
      : undefined;
  const isHidden = state.kind === "ended" && state.isRestarting && style.betweenRuns === "waiting";
  const isRunning = state.kind === "running";
  return {
    name,
    image,
    imageID: image,
    containerID,
    ready: isRunning || (run.role === "init" && state.kind === "ended"),
    started: isRunning,
    restartCount: restarts,
    ...(isHidden && terminated && { lastState: { terminated } }),
    state: isHidden
      ? { waiting: { reason: "CrashLoopBackOff" } }
      : terminated
        ? { terminated }
        : isRunning
          ? { running: { startedAt: at(state.startedMs) } }
          : { waiting: { reason: run.role === "main" ? "ContainerCreating" : "PodInitializing" } },
  };
}
