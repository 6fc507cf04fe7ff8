import type { BackendLimits } from "@virtual-kubelet/remote-pods";

/**
 * Limits of ECS and CloudWatch Logs.
 * Sources: Amazon ECS Developer Guide, "AWS Fargate throttling quotas" (launches), and CloudWatch Logs quotas; AWS does not publish the
 * others exactly, and these are low estimates.
 */
export const backendLimits: BackendLimits = {
  rates: {
    read: [{ burst: 100, perSecond: 20 }],
    launch: [{ burst: 100, perSecond: 20 }],
    stop: [{ burst: 100, perSecond: 20 }],
    define: [{ burst: 20, perSecond: 1 }],
    exec: [{ burst: 20, perSecond: 10 }],
    logs: [{ burst: 25, perSecond: 25 }],
  },
  describeBatch: 100,
  idempotency: "token",
  visibleAfterMs: 120_000,
  keepsEndedMs: 3_600_000,
  // The awslogs driver sends what it has every 5 s; AWS does not say how soon CloudWatch shows it, which is some seconds.
  // Source: moby daemon/logger/awslogs/cloudwatchlogs.go (`defaultForceFlushInterval`).
  logDelayMs: 10_000,
};
