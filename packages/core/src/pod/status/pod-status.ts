import type { ContainerStatus, DeepReadonly, Pod, PodCondition, PodStatus } from "@virtual-kubelet/kube-client";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { toSeconds } from "../../api-server/api-time.ts";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { canonicalQuantities, canonicalResources } from "./canonical-status.ts";
import { containerStatuses, type ContainerEnding, type ContainerStatusLists } from "./container-statuses.ts";
import { ownedStatusFields } from "./owned-status.ts";
import { ipsOf, podAddresses } from "./pod-addresses.ts";
import { foreignConditions, latestGeneration, podConditions } from "./pod-conditions.ts";
import { computePhase, isTerminalPhase, type PodPhase } from "./pod-phase.ts";
import { statusText } from "./status-text.ts";

/** Inputs of every status in addition to the pod. */
export interface StatusContext {
  /** The node's addresses, the main one first; empty if it has none. */
  readonly hostIPs: readonly string[];
  /** Wall-clock time in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Wall-clock time at which the node first saw the pod, in milliseconds since the epoch. Default: `nowMs`. */
  readonly firstSeenMs?: number | undefined;
  /**
   * Conditions that the controller asserts, such as `ProviderUpdateFailed`; removed when they are no longer
   * given. Default: none.
   */
  readonly conditions?: readonly DeepReadonly<PodCondition>[] | undefined;
  /** Generation of the applied spec. Default: the pod's. */
  readonly observedGeneration?: number | undefined;
}

export interface DerivePodStatusInput extends StatusContext {
  /** The API server's object. */
  readonly pod: DeepReadonly<Pod>;
  /** The provider's last report. */
  readonly reported: ProviderPodStatus;
  /**
   * Whether the provider has ended the pod, so that no container is started again. Before that a terminated container may be
   * between two runs, even in a pod that is being deleted. Default: whether the pod is being deleted.
   */
  readonly isOver?: boolean | undefined;
}

/** A reason and its explanation. */
export interface StatusReason {
  readonly reason: string;
  readonly message: string;
}

/**
 * Returns the status that a kubelet would write, from the provider's report and the API server's object. It is in the
 * API server's own form and depends on the clock only where something changed: derived again from the server's answer,
 * it is the same.
 *
 * The phase is the provider's, or is computed. A final phase of the provider ends the containers that it still reports as
 * running; a computed final phase is withheld while a container runs. A stored final phase stays.
 */
export function derivePodStatus(input: DerivePodStatusInput): PodStatus {
  const { pod, reported } = input;
  const ending = isTerminalPhase(reported.phase) ? endingOf(reported.phase) : undefined;
  const now = rfc3339(input.nowMs);
  return assemble(input, containerStatuses({ pod, reported, ending, now }), now);
}

/**
 * Returns the status of a pod that is not started yet: Pending, with every container waiting for the given reason. A pod that
 * has ended stays ended.
 */
export function waitingStatus(pod: DeepReadonly<Pod>, why: StatusReason & StatusContext): PodStatus {
  const waiting = { waiting: { reason: why.reason, message: why.message } };
  const wait = (containers: readonly { readonly name: string }[] | undefined): ContainerStatus[] =>
    (containers ?? []).map(({ name }) => ({ name, image: "", imageID: "", ready: false, restartCount: 0, state: waiting }));
  // The ordinary wait is left to the defaults, because a kubelet's reason for it depends on the pod.
  const isOrdinary = why.reason === "ContainerCreating";
  const reported: ProviderPodStatus = isOrdinary
    ? { phase: "Pending" }
    : {
        phase: "Pending",
        reason: why.reason,
        message: why.message,
        initContainerStatuses: wait(pod.spec?.initContainers),
        containerStatuses: wait(pod.spec?.containers),
        ephemeralContainerStatuses: wait(pod.spec?.ephemeralContainers),
      };
  return derivePodStatus({ ...why, pod, reported });
}

/**
 * Returns the status of a pod that was refused and never ran: Failed, with the reason and without container statuses. The
 * message is written unchanged; a kubelet's begin with `Pod was rejected: `.
 * Source: rejectPod in kubernetes v1.36.3 pkg/kubelet/kubelet.go.
 */
export function rejectedStatus(
  pod: DeepReadonly<Pod>,
  why: StatusReason & Pick<StatusContext, "nowMs" | "firstSeenMs" | "observedGeneration">,
): PodStatus {
  const stored = pod.status ?? {};
  const isTerminal = isTerminalPhase(stored.phase);
  return {
    ...foreignFields(stored),
    phase: isTerminal ? stored.phase : "Failed",
    reason: isTerminal ? stored.reason : statusText(why.reason),
    message: isTerminal ? stored.message : statusText(why.message),
    startTime: startTime(stored, why),
    observedGeneration: observedGeneration(pod, why.observedGeneration),
    conditions: foreignConditions(pod),
  };
}

/** Reason for the end of a pod; see {@link endedStatus}. */
export interface EndedReason extends StatusContext {
  /** The provider's last report, if it is newer than the API server's status. Default: the API server's status. */
  readonly reported?: ProviderPodStatus | undefined;
  /** Reason of the pod and of containers that ran. Default: none for the pod, `ContainerStatusUnknown` for the containers. */
  readonly reason?: string | undefined;
  /** Default: Succeeded if all containers ended with exit code 0, otherwise Failed. */
  readonly phase?: "Succeeded" | "Failed" | undefined;
  /** Message of the pod and of containers that ran. Default: none for the pod, a general one for the containers. */
  readonly message?: string | undefined;
}

/**
 * Returns the last status of a pod that is confirmed gone at the back end. Containers that ran have ended with exit code 137, and those
 * that never started keep waiting. The pod has Succeeded if all its containers had ended with exit code 0, and has otherwise Failed.
 */
export function endedStatus(pod: DeepReadonly<Pod>, why: EndedReason): PodStatus {
  const {
    initContainerStatuses,
    containerStatuses: mainStatuses,
    ephemeralContainerStatuses,
    podIP,
    podIPs,
  } = why.reported ?? pod.status ?? {};
  const { hostIP, hostIPs } = why.reported ?? {};
  const addresses = { podIP, podIPs, hostIP, hostIPs };
  const reported: ProviderPodStatus = { initContainerStatuses, containerStatuses: mainStatuses, ephemeralContainerStatuses, ...addresses };
  const ending: ContainerEnding = {
    exitCode: 137,
    reason: why.reason ?? "ContainerStatusUnknown",
    message: why.message ?? "The container could not be located when the pod was terminated",
    neverStarted: "wait",
  };
  const now = rfc3339(why.nowMs);
  const lists = containerStatuses({ pod, reported, ending, now });
  const hasSucceeded = (lists.containerStatuses ?? []).every((status) => status.state?.terminated?.exitCode === 0);
  const phase = why.phase ?? (hasSucceeded ? "Succeeded" : "Failed");
  return assemble(
    { ...why, pod, reported: { ...reported, phase, ...(why.reason ? { reason: why.reason, message: why.message } : {}) } },
    lists,
    now,
  );
}

/** Termination of containers that a provider reports as running, or not at all, in a pod that it reports as ended. */
function endingOf(phase: "Succeeded" | "Failed"): ContainerEnding {
  return phase === "Succeeded"
    ? { exitCode: 0, reason: "Completed", message: "", neverStarted: "end" }
    : {
        exitCode: 137,
        reason: "ContainerStatusUnknown",
        message: "The provider reported the pod as Failed without saying how the container ended",
        neverStarted: "endUnreported",
      };
}

function assemble(input: DerivePodStatusInput, lists: ContainerStatusLists, now: string): PodStatus {
  const { pod, reported, hostIPs } = input;
  const stored = pod.status ?? {};
  const all = [...(lists.initContainerStatuses ?? []), ...(lists.containerStatuses ?? [])];
  const statuses = new Map(all.map((status) => [status.name, status]));
  const isRunning = [...all, ...(lists.ephemeralContainerStatuses ?? [])].some((status) => status.state?.running);
  const phase = phaseOf(input, statuses, isRunning);
  const addresses = podAddresses({ pod, reported, hostIPs, isRunning });
  const hasAddress = ipsOf(reported).length > 0;
  const hasRun = all.some(({ state, lastState }) => state?.running ?? state?.terminated ?? lastState?.terminated);
  const readyToStart = reported.conditions?.find(({ type }) => type === "PodReadyToStartContainers");
  const keeps = isTerminalPhase(stored.phase);
  const generation = observedGeneration(pod, input.observedGeneration);
  return {
    ...foreignFields(stored),
    phase,
    reason: keeps ? stored.reason : statusText(reported.reason),
    message: keeps ? stored.message : statusText(reported.message),
    startTime: startTime(stored, input),
    observedGeneration: generation,
    ...addresses,
    conditions: podConditions({
      pod,
      phase,
      statuses,
      hasSandbox: readyToStart ? readyToStart.status === "True" : hasAddress || hasRun,
      asserted: [...(reported.conditions ?? []), ...(input.conditions ?? [])],
      observedGeneration: generation,
      now,
    }),
    ...lists,
    resources: canonicalResources(reported.resources ?? stored.resources),
    allocatedResources: canonicalQuantities(reported.allocatedResources ?? stored.allocatedResources),
  };
}

function phaseOf(
  { pod, reported, isOver }: DerivePodStatusInput,
  statuses: ReadonlyMap<string, ContainerStatus>,
  isRunning: boolean,
): PodPhase {
  const stored = pod.status?.phase;
  if (isTerminalPhase(stored)) return stored;
  if (isTerminalPhase(reported.phase)) return reported.phase;
  const isEnding = isOver ?? pod.metadata?.deletionTimestamp !== undefined;
  const computed = computePhase(pod, statuses, isEnding);
  // A pod that is being deleted ends with its containers, even if the provider still reports it as Running.
  if (isEnding && isTerminalPhase(computed) && !isRunning) return computed;
  if (reported.phase === "Pending" || reported.phase === "Running") return reported.phase;
  // A final phase promises that no container of the pod runs.
  if (isTerminalPhase(computed) && isRunning) return stored === "Running" ? "Running" : "Pending";
  return computed;
}

const owned: ReadonlySet<string> = new Set(ownedStatusFields);

/** Returns the fields of the status that belong to other writers. */
function foreignFields(stored: DeepReadonly<PodStatus>): PodStatus {
  const fields: Record<string, unknown> = {};
  for (const field in stored) if (!owned.has(field)) fields[field] = stored[field as keyof PodStatus];
  return fields;
}

/**
 * Returns the stored start, which never changes; otherwise the time at which this process first saw the pod. That precedes the start of its
 * containers, except if an earlier process started the pod and stopped before it wrote a status.
 */
function startTime(stored: DeepReadonly<PodStatus>, { nowMs, firstSeenMs = nowMs }: Pick<StatusContext, "nowMs" | "firstSeenMs">): string {
  return toSeconds(stored.startTime) ?? rfc3339(firstSeenMs);
}

/** Only servers that count a pod's generations accept one in its status. */
function observedGeneration(pod: DeepReadonly<Pod>, observed: number | undefined): number | undefined {
  const { generation } = pod.metadata ?? {};
  return generation ? latestGeneration(pod.status?.observedGeneration, observed ?? generation) : pod.status?.observedGeneration;
}
