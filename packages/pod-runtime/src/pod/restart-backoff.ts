import type { BackoffRecord } from "./container-life.ts";

/** First and longest wait of a back-off that doubles, in milliseconds. */
export interface BackoffLimits {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** A kubelet's back-off for crashing containers and for failing pulls. */
export const kubeletBackoff: BackoffLimits = { initialMs: 10_000, maxMs: 300_000 };

/** What to do about something that ended or failed at `endedAtMs`. */
export interface BackoffVerdict {
  /** When it may begin again; monotonic. */
  readonly dueMs: number;
  /** 0: at once. */
  readonly delayMs: number;
  /** The record to keep once it has begun again. */
  readonly next: BackoffRecord;
}

/**
 * How long to wait after an end. The first time there is no wait; each later one is twice as long as the one before. Who
 * lasted longer than twice the longest wait begins anew.
 * Source: doBackOff in kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_manager.go, client-go util/flowcontrol.
 *
 * @param endedAtMs - monotonic
 */
export function backoffAfter(record: BackoffRecord | undefined, endedAtMs: number, limits: BackoffLimits = kubeletBackoff): BackoffVerdict {
  const isFresh = record === undefined || endedAtMs - record.usedAtMs > 2 * limits.maxMs;
  if (isFresh) return { dueMs: endedAtMs, delayMs: 0, next: { delayMs: limits.initialMs, usedAtMs: endedAtMs } };
  const dueMs = endedAtMs + record.delayMs;
  return { dueMs, delayMs: record.delayMs, next: { delayMs: Math.min(limits.maxMs, record.delayMs * 2), usedAtMs: dueMs } };
}

/** A duration as Go prints it, in whole seconds: `10s`, `1m20s`, `5m0s`. */
export function goSeconds(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
