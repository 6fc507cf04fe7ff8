import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { BackoffRecord } from "./container-life.ts";
import { podName } from "./pod-name.ts";

/** Initial and maximum delay of an exponential back-off, in milliseconds. */
export interface BackoffLimits {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** A kubelet's back-off for crashing containers and failing pulls. */
export const kubeletBackoff: BackoffLimits = { initialMs: 10_000, maxMs: 300_000 };

/** Delay after an end or a failure. */
export interface BackoffVerdict {
  /** Time of the next start; monotonic. */
  readonly dueMs: number;
  /** 0: start at once. */
  readonly delayMs: number;
  /** The record to keep after the next start. */
  readonly next: BackoffRecord;
}

/**
 * Delay after an end: none at first, then doubled each time. A run of more than twice the maximum delay resets it. Source: doBackOff in
 * kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_manager.go, client-go util/flowcontrol.
 *
 * @param endedAtMs - monotonic
 */
export function backoffAfter(record: BackoffRecord | undefined, endedAtMs: number, limits: BackoffLimits = kubeletBackoff): BackoffVerdict {
  const isFresh = record === undefined || endedAtMs - record.usedAtMs > 2 * limits.maxMs;
  if (isFresh) return { dueMs: endedAtMs, delayMs: 0, next: { delayMs: limits.initialMs, usedAtMs: endedAtMs } };
  const dueMs = endedAtMs + record.delayMs;
  return { dueMs, delayMs: record.delayMs, next: { delayMs: Math.min(limits.maxMs, record.delayMs * 2), usedAtMs: dueMs } };
}

/** A kubelet's event message for a container whose restart waits. Source: doBackOff in the same file. */
export function backOffMessage(container: string, pod: DeepReadonly<Pod>): string {
  return `Back-off restarting failed container ${container} in pod ${podName(pod)}`;
}

/** A duration in Go's format, in whole seconds: `10s`, `1m20s`, `5m0s`. */
export function goSeconds(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
