import type { GroupMember } from "../azure/group-schema.ts";

/** Kubernetes' defaults. */
const defaultPeriodSeconds = 10;
const defaultTimeoutSeconds = 1;

/**
 * Whether a running container is ready. Azure reports a readiness probe only by events of its failures, which it repeats with each failure: a
 * container is ready if its first probe is due, and none has failed since two periods.
 */
export function isReady({ properties }: GroupMember, nowMs: number): boolean {
  const { instanceView, readinessProbe: probe } = properties;
  if (!probe) return true;
  const startedMs = Date.parse(instanceView?.currentState?.startTime ?? "");
  const intervalMs = ((probe.periodSeconds ?? defaultPeriodSeconds) + (probe.timeoutSeconds ?? defaultTimeoutSeconds)) * 1000;
  if (Number.isNaN(startedMs) || nowMs < startedMs + (probe.initialDelaySeconds ?? 0) * 1000 + intervalMs) return false;
  const failures = (instanceView?.events ?? []).filter(({ name, message }) => name === "Unhealthy" && /readiness/i.test(message ?? ""));
  return failures.every(({ lastTimestamp }) => {
    const failedMs = Date.parse(lastTimestamp ?? "");
    return Number.isNaN(failedMs) || failedMs < startedMs || nowMs >= failedMs + 2 * intervalMs;
  });
}
