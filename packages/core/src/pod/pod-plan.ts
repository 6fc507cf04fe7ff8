import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { needsUpdate } from "./pod-changes.ts";
import { isTerminalPhase } from "./pod-phase.ts";
import type { DeletionDeadline, PodRecord } from "./pod-record.ts";

/** The next thing to do for a pod. */
export type PodPlan =
  | { readonly kind: "nothing" }
  /** Look again then. */
  | { readonly kind: "wait"; readonly ms: number }
  /** Ask the provider whether it holds the pod. */
  | { readonly kind: "inspect" }
  /** Start the pod, if admission and the provider's capabilities let it. */
  | { readonly kind: "start" }
  | { readonly kind: "update" }
  | { readonly kind: "delete"; readonly gracePeriodSeconds: number; readonly overdue: boolean }
  /** Write the pod's end, then remove it from the API server. */
  | { readonly kind: "finish" }
  /** Nothing is left of the pod on either side: drop the record. */
  | { readonly kind: "forget" };

/** How far a new deadline must lie before the old one for the provider to be told. */
const deadlineSlackMs = 500;

/** How long after its deadline a pod that still runs is told to end at once. */
export const overdueMs = 10_000;

/**
 * Decides what to do next for a pod, from what the API server wants and what is known of the back end. Level-based: it
 * is right whatever happened before.
 *
 * @param pod - the API server's object; absent if it is gone there
 * @param nowMs - monotonic milliseconds
 */
export function planPod(pod: DeepReadonly<Pod> | undefined, record: Readonly<PodRecord>, nowMs: number): PodPlan {
  if (!pod) return planVanished(record);
  if (record.deletion) return planDeleted(record, record.deletion, nowMs);
  if (isTerminalPhase(pod.status?.phase)) return { kind: "nothing" };
  const { backend } = record;
  switch (backend.kind) {
    case "unknown":
      return { kind: "inspect" };
    case "absent":
      return record.verdict?.kind === "rejected" || record.verdict?.kind === "lost" ? { kind: "nothing" } : { kind: "start" };
    case "present":
      return needsUpdate(backend.applied, pod) ? { kind: "update" } : { kind: "nothing" };
    case "ending":
    case "gone":
      // Only a deleted pod is ended, and a deletion is never taken back.
      return { kind: "nothing" };
    default:
      return backend satisfies never;
  }
}

/** A pod that was force-deleted or garbage-collected: whatever the back end holds of it has no more time. */
function planVanished({ backend }: Readonly<PodRecord>): PodPlan {
  return backend.kind === "absent" || backend.kind === "gone"
    ? { kind: "forget" }
    : { kind: "delete", gracePeriodSeconds: 0, overdue: false };
}

function planDeleted({ backend }: Readonly<PodRecord>, { deadlineMs }: DeletionDeadline, nowMs: number): PodPlan {
  const gracePeriodSeconds = Math.max(0, Math.ceil((deadlineMs - nowMs) / 1000));
  switch (backend.kind) {
    case "unknown":
    case "present":
      return { kind: "delete", gracePeriodSeconds, overdue: false };
    case "absent":
    case "gone":
      return { kind: "finish" };
    case "ending":
      if (deadlineMs < backend.deadlineMs - deadlineSlackMs) return { kind: "delete", gracePeriodSeconds, overdue: false };
      if (nowMs < backend.lookAtMs) return { kind: "wait", ms: backend.lookAtMs - nowMs };
      return nowMs < backend.deadlineMs + overdueMs ? { kind: "inspect" } : { kind: "delete", gracePeriodSeconds: 0, overdue: true };
    default:
      return backend satisfies never;
  }
}

/** Whether a change of the API server's object can call for another plan; a change of its status alone never does. */
export function needsReplan(previous: DeepReadonly<Pod>, next: DeepReadonly<Pod>): boolean {
  const before = previous.metadata;
  const after = next.metadata;
  return (
    before?.deletionTimestamp !== after?.deletionTimestamp ||
    before?.deletionGracePeriodSeconds !== after?.deletionGracePeriodSeconds ||
    needsUpdate(previous, next)
  );
}

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
  known: DeletionDeadline | undefined,
  live: boolean,
  time: { readonly nowMs: number; readonly wallMs: number },
): DeletionDeadline | undefined {
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
