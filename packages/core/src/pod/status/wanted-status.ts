import type { DeepReadonly, Pod, PodCondition, PodStatus } from "@virtual-kubelet/kube-client";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { deadlineExceeded, isPastActiveDeadline } from "../state/end-deadline.ts";
import type { EventTime } from "../state/pod-event.ts";
import { isTerminalPhase } from "./pod-phase.ts";
import { hasEnded, isOver, lastGiven, mayRestart, type PodState } from "../state/pod-state.ts";
import { derivePodStatus, endedStatus, rejectedStatus, waitingStatus, type StatusContext } from "./pod-status.ts";
import { resizeCondition, withRunningResources } from "../resize/resize.ts";

/** Time after which a start is shown as ContainerCreating, in milliseconds; most pods are Running earlier. */
export const slowStartMs = 1_000;

/**
 * Returns the status that a pod should have: from the core's own verdict, otherwise from the end of a deleted pod, otherwise from
 * the provider's report.
 *
 * @param monotonicMs - time on the states' clock
 * @returns `undefined` if there is no status yet
 */
export function wantedStatus(pod: DeepReadonly<Pod>, state: PodState, given: StatusContext, monotonicMs: number): PodStatus | undefined {
  const { verdict, reported, call } = state;
  const context = { ...given, firstSeenMs: given.nowMs - (monotonicMs - state.firstSeenMs) };
  const end = endOf(pod, state, context, monotonicMs);
  if (end) return end;
  const observedGeneration = generationActedOn(pod, state);
  if (verdict?.kind === "waiting") return waitingStatus(pod, { ...verdict, ...context, observedGeneration });
  if (reported) return reportedStatus(pod, { ...state, reported }, { ...context, observedGeneration });
  const isSlow = call?.kind === "start" && monotonicMs - call.startedMs > slowStartMs;
  return isSlow ? waitingStatus(pod, { reason: "ContainerCreating", message: "", ...context, observedGeneration }) : undefined;
}

/** Whether a pod in this state can have a status to write, or can be removed. A new pod can not, until the provider is called. */
export function mayHaveStatus({ verdict, reported, call, deletion, teardown }: PodState): boolean {
  return (verdict ?? reported ?? call ?? deletion ?? teardown) !== undefined;
}

/**
 * Whether two states of a pod lead to the same status, and to the same decision on its removal, for the same API object at the same time.
 */
export function showsAlike(before: PodState, after: PodState): boolean {
  return (
    before.verdict === after.verdict &&
    before.reported === after.reported &&
    before.resize === after.resize &&
    before.deletion === after.deletion &&
    before.teardown === after.teardown &&
    isEnded(before) === isEnded(after) &&
    givenGeneration(before) === givenGeneration(after) &&
    (after.resize === undefined || lastGiven(before.backend) === lastGiven(after.backend))
  );
}

/** Returns the status of a pod that was refused, is lost or has ended; otherwise `undefined`. */
function endOf(pod: DeepReadonly<Pod>, state: PodState, context: StatusContext, monotonicMs: number): PodStatus | undefined {
  const { verdict, reported } = state;
  if (verdict?.kind === "rejected") return rejectedStatus(pod, { ...verdict, ...context });
  if (verdict?.kind === "lost") return endedStatus(pod, { ...verdict, ...context, reported });
  const over = isEnded(state);
  const ended = reported !== undefined && hasEnded(reported, pod);
  const isThrough = over || (ended && !mayRestart(pod, reported));
  if (isThrough && hasExpired(pod, state, { nowMs: monotonicMs, wallMs: context.nowMs }))
    return endedStatus(pod, { ...deadlineExceeded, ...context, reported, phase: "Failed" });
  return over && !ended ? endedStatus(pod, { ...context, reported }) : undefined;
}

/**
 * Whether the pod has Failed because it exceeded its active deadline. After a restart its end can be known before the
 * verdict. A stored final phase stays.
 * Source: generateAPIPodStatus in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go.
 */
function hasExpired(pod: DeepReadonly<Pod>, state: PodState, time: EventTime): boolean {
  if (state.verdict?.kind === "expired") return true;
  return !isTerminalPhase(pod.status?.phase) && isPastActiveDeadline(pod, state, time);
}

/** Whether the provider has ended the pod on request. */
function isEnded(state: PodState): boolean {
  return (state.deletion !== undefined || state.teardown !== undefined) && isOver(state);
}

function reportedStatus(
  pod: DeepReadonly<Pod>,
  state: PodState & { readonly reported: ProviderPodStatus },
  { observedGeneration, ...context }: StatusContext & { readonly observedGeneration: number | undefined },
): PodStatus {
  const { reported } = state;
  const over = isEnded(state);
  const conditions = assertedConditions(state);
  const derived = derivePodStatus({ pod, reported, isOver: over, ...context, conditions, observedGeneration });
  const status = withPendingResize(derived, state);
  // A pod without a termination state of each container has ended nevertheless.
  return over && !isTerminalPhase(status.phase) ? endedStatus(pod, { ...context, reported }) : status;
}

/** Adds the resources that a pod runs with while a resize is pending. */
function withPendingResize(status: PodStatus, { resize, backend }: PodState): PodStatus {
  const applied = lastGiven(backend);
  return resize?.kind === "pending" && !resize.refused && applied?.spec ? withRunningResources(status, applied) : status;
}

function assertedConditions({ resize, deletion, teardown }: PodState): readonly PodCondition[] {
  return resize && !deletion && !teardown ? [resizeCondition(resize)] : [];
}

/**
 * A pod that is ending keeps its generation until its end, because each deletion would otherwise cost another write.
 * While it is unclear whether an earlier spec runs, the newer one is not observed, because after a restart only the status shows that.
 */
function generationActedOn(pod: DeepReadonly<Pod>, state: PodState): number | undefined {
  const { deletion, reported } = state;
  if (deletion && !(reported && hasEnded(reported, pod))) return pod.status?.observedGeneration;
  return givenGeneration(state);
}

function givenGeneration({ backend, unconfirmed }: PodState): number | undefined {
  return (lastGiven(backend) ?? unconfirmed)?.metadata?.generation;
}
