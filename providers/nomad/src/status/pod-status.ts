import { computePhase, type ContainerStatus, type DeepReadonly, type Pod, type ProviderPodStatus } from "@virtual-kubelet/core";
import { ownValue } from "@virtual-kubelet/kubernetes";
import type { ProbeStanding } from "@virtual-kubelet/pod-runtime/probes";
import type { Allocation } from "../api/types.ts";
import { prestartContainers, type PodShape } from "../job/pod-shape.ts";
import { containerStatusOf, type Terminated } from "./container-status.ts";
import { taskStateOf } from "./task-state.ts";

/** Reason why a pod has ended although it was not deleted and its containers did not end. */
interface PodVerdict {
  readonly reason: string;
  readonly message: string;
}

/** Input of a pod's status. */
export interface PodView {
  readonly shape: PodShape;
  readonly allocation: Allocation | undefined;
  /** By container; see `remembered` of {@link containerStatusOf}. */
  readonly remembered: ReadonlyMap<string, Terminated>;
  /** Address of the client it runs on. */
  readonly hostAddress: string | undefined;
  /** Why it has not been placed yet. */
  readonly unplaced: string | undefined;
  /** It was deleted. */
  readonly ending: boolean;
  /** Restarts of its containers in starts before this one, by their names. */
  readonly restarts: Readonly<Record<string, number>>;
  /** Delay before it is started again, because its start has failed; see {@link isToStartAgain}. */
  readonly backOffMs: number | undefined;
  /** Probe results by container name; containers that are not probed are absent. */
  readonly standings: ReadonlyMap<string, ProbeStanding>;
}

/** Derives a pod's status from its allocation. */
export function podStatusOf(view: PodView): ProviderPodStatus {
  const { shape, allocation, remembered, unplaced } = view;
  const verdict = verdictOf(view);
  const over = overOf(view);
  const waitsForInit = prestartContainers(shape).length > 0;
  const statuses = shape.containers.map((container) => {
    const status = containerStatusOf({
      shape: container,
      allocationId: allocation?.ID,
      task: taskStateOf(allocation, container.name),
      remembered: remembered.get(container.name),
      waitsForInit,
      over,
      restarts: ownValue(view.restarts, container.name) ?? 0,
      backOffMs: view.backOffMs,
      standing: view.standings.get(container.name),
    });
    return withDisconnect(withUnplaced(status, unplaced), allocation);
  });
  const isMain = (name: string): boolean => shape.containers.some((container) => container.name === name && container.role === "main");
  const address = addressOf(view);
  const initContainerStatuses = statuses.filter(({ name }) => !isMain(name));
  return {
    phase: verdict ? "Failed" : phaseOf(view, statuses),
    ...(verdict ??
      (allocation?.ClientStatus === "failed" && view.backOffMs === undefined && allocation.ClientDescription
        ? { message: allocation.ClientDescription }
        : {})),
    ...(address !== undefined && { podIP: address, podIPs: [{ ip: address }] }),
    containerStatuses: statuses.filter(({ name }) => isMain(name)),
    ...(initContainerStatuses.length > 0 && { initContainerStatuses }),
  };
}

/**
 * Why the pod is over, if neither it was deleted nor its containers ended by themselves. Nomad would run it again
 * elsewhere, which is Kubernetes' to decide. What still runs is not over: it may be us who ended it, before a restart.
 */
function verdictOf({ allocation, ending }: Pick<PodView, "allocation" | "ending">): PodVerdict | undefined {
  if (!allocation) return undefined;
  const where = allocation.NodeName ? ` ${allocation.NodeName}` : "";
  if (allocation.ClientStatus === "lost") return { reason: "NodeLost", message: `Nomad lost its client${where}` };
  if (ending || allocation.ClientStatus !== "complete" || allocation.DesiredStatus === "run") return undefined;
  if (isPreempted(allocation)) return { reason: "Preempted", message: "Nomad gave the pod's place to a job of higher priority" };
  const { Migrate, NoShutdownDelay } = allocation.DesiredTransition ?? {};
  // Nomad tells `alloc stop` and a drain with the same words. Source: Nomad 2.0.6, `Alloc.Stop` and `NodeDrainer`.
  if (Migrate && NoShutdownDelay !== undefined && NoShutdownDelay !== null)
    return { reason: "StoppedByNomad", message: "the pod's allocation was stopped in Nomad, as by nomad alloc stop" };
  if (Migrate) return { reason: "NodeDrained", message: `Nomad's client${where} was drained` };
  return { reason: "StoppedByNomad", message: allocation.DesiredDescription || "the pod's job was stopped in Nomad" };
}

/**
 * Whether a pod whose allocation has failed is started again: Nomad gives up on a container that it cannot start, whatever the policy,
 * and a kubelet does not.
 */
export function isToStartAgain({ shape, allocation, ending }: Pick<PodView, "shape" | "allocation" | "ending">): boolean {
  return shape.restartPolicy !== "Never" && !ending && allocation?.ClientStatus === "failed" && !isToBeStopped(allocation);
}

/** Whether Nomad is about to run the pod again elsewhere, or does already, and has to be kept from it. */
export function isToBeStopped({ ClientStatus, DesiredStatus, DesiredTransition, ...rest }: Allocation): boolean {
  return (
    ClientStatus === "lost" || DesiredStatus !== "run" || DesiredTransition?.Migrate === true || isPreempted({ DesiredStatus, ...rest })
  );
}

function isPreempted({ DesiredStatus, PreemptedByAllocation }: Pick<Allocation, "DesiredStatus" | "PreemptedByAllocation">): boolean {
  return DesiredStatus === "evict" || Boolean(PreemptedByAllocation);
}

/** Whether an allocation's tasks have ended, all of them, for good. */
export function hasEnded(allocation: Allocation | undefined): boolean {
  return allocation !== undefined && ["complete", "failed", "lost"].includes(allocation.ClientStatus);
}

function overOf({ allocation, ending }: PodView): "no" | "ended" | "lost" {
  if (!allocation || !hasEnded(allocation)) return "no";
  if (allocation.ClientStatus === "lost") return "lost";
  // As with a kubelet, what a failed init container kept from starting waits on, until the pod is deleted.
  return allocation.ClientStatus === "failed" && !ending ? "no" : "ended";
}

function phaseOf(
  { shape, allocation, ending, backOffMs }: PodView,
  statuses: readonly ContainerStatus[],
): "Pending" | "Running" | "Succeeded" | "Failed" {
  const phase = computePhase(podLike(shape), new Map(statuses.map((status) => [status.name, status])), ending);
  const mains = statuses.filter(({ name }) => shape.containers.some((each) => each.name === name && each.role === "main"));
  switch (backOffMs === undefined ? allocation?.ClientStatus : undefined) {
    case "failed":
      return "Failed";
    case "complete":
      return mains.every(({ state }) => state?.terminated?.exitCode === 0) ? "Succeeded" : "Failed";
    default:
      if (phase !== "Succeeded" && phase !== "Failed") return phase;
      // Nomad ends the whole pod soon; until then nothing has ended for good.
      return mains.some(({ state }) => state?.terminated) ? "Running" : "Pending";
  }
}

/** As much of a pod as its phase depends on. */
function podLike({ restartPolicy, containers }: PodShape): DeepReadonly<Pod> {
  return {
    spec: {
      restartPolicy,
      containers: containers.filter(({ role }) => role === "main").map(({ name }) => ({ name })),
      initContainers: prestartContainers({ containers }).map(({ name, role }) => ({
        name,
        ...(role === "sidecar" && { restartPolicy: "Always" }),
      })),
    },
  };
}

function addressOf({ shape, allocation, hostAddress }: PodView): string | undefined {
  const own = allocation?.NetworkStatus?.Address || allocation?.NetworkStatus?.AddressIPv6;
  if (own) return own;
  return shape.network === "host" && allocation && allocation.ClientStatus !== "pending" ? hostAddress : undefined;
}

function withUnplaced(status: ContainerStatus, unplaced: string | undefined): ContainerStatus {
  if (unplaced === undefined || !status.state?.waiting) return status;
  return { ...status, state: { waiting: { ...status.state.waiting, message: unplaced } } };
}

/** A client that does not answer may run its pods on; nobody can tell. */
function withDisconnect(status: ContainerStatus, allocation: Allocation | undefined): ContainerStatus {
  return allocation?.ClientStatus === "unknown" ? { ...status, ready: false } : status;
}
