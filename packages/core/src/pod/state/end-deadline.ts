import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { EventTime } from "./pod-event.ts";
import type { EndDeadline, PodState, Verdict } from "./pod-state.ts";

/** Time after its deadline at which a pod that still runs is ended without grace. */
export const overdueMs = 10_000;

/** Time after a deletion's deadline at which the provider is asked about a pod whose end it has not reported. */
export const lookAfterMs = 2_000;

/**
 * Time by which a pod that is being deleted has to end, on the monotonic clock. A deletion that the node sees as it happens counts from
 * now, so that the server's clock does not matter; a deletion found at the start counts from its time stamp. A second
 * deletion brings the deadline forward by the difference of the grace periods.
 *
 * @param known - the previous deadline
 * @param live - whether the pod was known before it was deleted
 */
export function deletionDeadline(
  pod: DeepReadonly<Pod>,
  known: EndDeadline | undefined,
  live: boolean,
  time: EventTime,
): EndDeadline | undefined {
  const timestamp = pod.metadata?.deletionTimestamp;
  if (!timestamp) return undefined;
  const graceSeconds = pod.metadata?.deletionGracePeriodSeconds ?? 0;
  if (known) {
    if (graceSeconds >= known.graceSeconds) return known;
    const shorterMs = (known.graceSeconds - graceSeconds) * 1000;
    return { graceSeconds, deadlineMs: Math.max(time.nowMs, known.deadlineMs - shorterMs) };
  }
  const remainingMs = live ? graceSeconds * 1000 : Math.min(Math.max(0, Date.parse(timestamp) - time.wallMs), graceSeconds * 1000);
  return { graceSeconds, deadlineMs: time.nowMs + remainingMs };
}

/**
 * Milliseconds until the pod exceeds `spec.activeDeadlineSeconds`; negative afterwards,
 * `undefined` if it has no such deadline. Counted from the status's start time, as by a kubelet, or from the time at which the node
 * first saw the pod if the status has none.
 * Source: pastActiveDeadline in kubernetes v1.36.3 pkg/kubelet/active_deadline.go.
 */
export function activeDeadlineMs(pod: DeepReadonly<Pod>, firstSeenMs: number, { nowMs, wallMs }: EventTime): number | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  if (seconds === undefined) return undefined;
  const startMs = Date.parse(pod.status?.startTime ?? "");
  return seconds * 1000 - (Number.isNaN(startMs) ? nowMs - firstSeenMs : wallMs - startMs);
}

/**
 * Verdict on a pod that exceeded its active deadline.
 * Source: kubernetes v1.36.3 pkg/kubelet/active_deadline.go.
 */
export const deadlineExceeded: Verdict & { readonly kind: "expired" } = {
  kind: "expired",
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
};

/** Whether the pod exceeded its active deadline before it ended; afterwards its end may only wait to be written. */
export function isPastActiveDeadline(pod: DeepReadonly<Pod>, { firstSeenMs, endedMs }: PodState, time: EventTime): boolean {
  const sinceEndMs = endedMs === undefined ? 0 : time.nowMs - endedMs;
  return (activeDeadlineMs(pod, firstSeenMs, time) ?? 1) + sinceEndMs <= 0;
}
