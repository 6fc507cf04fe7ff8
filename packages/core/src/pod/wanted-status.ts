import type { DeepReadonly, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import { hasEnded, lastGiven, type PodRecord } from "./pod-record.ts";
import { derivePodStatus, endedStatus, rejectedStatus, waitingStatus, type StatusContext } from "./pod-status.ts";

/** How long a start may take before the pod is shown as ContainerCreating, in milliseconds: most are Running before. */
export const slowStartMs = 1_000;

/**
 * The status a pod should have, from what is known of it: the core's own verdict, else the end of a deleted pod, else
 * what the provider reported.
 *
 * @param monotonicMs - time on the records' clock
 * @returns `undefined` if there is nothing to say yet
 */
export function wantedStatus(
  pod: DeepReadonly<Pod>,
  record: Readonly<PodRecord>,
  context: StatusContext,
  monotonicMs: number,
): PodStatus | undefined {
  const { verdict, backend, reported, call } = record;
  if (verdict?.kind === "rejected") return rejectedStatus(pod, { ...verdict, ...context });
  if (verdict?.kind === "lost") return endedStatus(pod, { ...verdict, ...context });
  const isOver = record.deletion !== undefined && (backend.kind === "gone" || backend.kind === "absent");
  if (isOver && !(reported && hasEnded(reported))) return endedStatus(pod, { ...context, reported });
  const observedGeneration = generationActedOn(pod, record);
  if (verdict) return waitingStatus(pod, { ...verdict, ...context, observedGeneration });
  if (reported) return derivePodStatus({ pod, reported, ...context, observedGeneration });
  const isSlow = call?.kind === "start" && monotonicMs - call.startedMs > slowStartMs;
  return isSlow ? waitingStatus(pod, { reason: "ContainerCreating", message: "", ...context, observedGeneration }) : undefined;
}

/**
 * A pod that is ending says what it last ran; its end, that the deletion was seen. Else each deletion cost a write more.
 * A newer spec is not acted on while it is unclear whether an earlier one is run: after a restart nothing else tells.
 */
function generationActedOn(pod: DeepReadonly<Pod>, { backend, deletion, reported, unconfirmed }: Readonly<PodRecord>): number | undefined {
  if (deletion && !(reported && hasEnded(reported))) return pod.status?.observedGeneration;
  return (lastGiven(backend) ?? unconfirmed)?.metadata?.generation;
}
