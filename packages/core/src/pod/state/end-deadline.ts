import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { EventTime } from "./pod-event.ts";
import type { EndDeadline, PodState, Verdict } from "./pod-state.ts";

/** How long after its deadline a pod that still runs is told to end at once. */
export const overdueMs = 10_000;

/** How long after a deletion's deadline the provider is asked, if it did not say by itself that the pod has ended. */
export const lookAfterMs = 2_000;

/**
 * By when a pod being deleted has to have ended, on the monotonic clock. A deletion seen as it happens counts from
 * now, so that the server's clock does not matter; one found at the start counts from its time stamp. A second
 * deletion takes off what its grace is shorter.
 *
 * @param known - the deadline as known so far
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
 * Milliseconds until the pod has been active for longer than `spec.activeDeadlineSeconds`; negative when it has been,
 * `undefined` where it has no such deadline. Counted from the status's start time, as a kubelet does, and from when the node
 * first saw the pod while the status has none.
 * Source: pastActiveDeadline in kubernetes v1.36.3 pkg/kubelet/active_deadline.go.
 */
export function activeDeadlineMs(pod: DeepReadonly<Pod>, firstSeenMs: number, { nowMs, wallMs }: EventTime): number | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  if (seconds === undefined) return undefined;
  const startMs = Date.parse(pod.status?.startTime ?? "");
  return seconds * 1000 - (Number.isNaN(startMs) ? nowMs - firstSeenMs : wallMs - startMs);
}

/**
 * Verdict on a pod that has been active for longer than it may.
 * Source: kubernetes v1.36.3 pkg/kubelet/active_deadline.go.
 */
export const deadlineExceeded: Verdict & { readonly kind: "expired" } = {
  kind: "expired",
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
};

/** Whether the pod has been active for longer than it may; see {@link activeDeadlineMs}. */
export function isPastActiveDeadline(pod: DeepReadonly<Pod>, { firstSeenMs }: PodState, time: EventTime): boolean {
  return (activeDeadlineMs(pod, firstSeenMs, time) ?? 1) <= 0;
}
