import type { Clock } from "@virtual-kubelet/clock";
import { ArmError } from "./arm-error.ts";

/** Class of a request, by which Azure Resource Manager and the service limit rates. */
export type CallClass = "read" | "write" | "delete" | "token" | "network" | "metrics" | "other";

/** A token bucket. */
interface Bucket {
  readonly size: number;
  readonly perSecond: number;
}

/** At most `count` requests in any `windowMs`. */
interface Window {
  readonly count: number;
  readonly windowMs: number;
}

/** Limits of rates and quotas. */
export interface CallLimits {
  /** Buckets of Azure Resource Manager for each principal and region. */
  readonly buckets: Readonly<Partial<Record<CallClass, Bucket>>>;
  /** Windows of the service for creates and deletes of container groups. */
  readonly windows: Readonly<Partial<Record<"write" | "delete", readonly Window[]>>>;
  /** Maximum number of container groups. */
  readonly groups: number;
  /** Maximum number of cores of all container groups. */
  readonly cores: number;
}

/**
 * Published limits: https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling and
 * https://learn.microsoft.com/azure/container-instances/container-instances-resource-and-quota-limits, 2026-11.
 */
export const publishedLimits: CallLimits = {
  buckets: {
    read: { size: 250, perSecond: 25 },
    write: { size: 200, perSecond: 10 },
    delete: { size: 200, perSecond: 10 },
  },
  windows: {
    write: [
      { count: 100, windowMs: 300_000 },
      { count: 300, windowMs: 3_600_000 },
    ],
    delete: [
      { count: 100, windowMs: 300_000 },
      { count: 300, windowMs: 3_600_000 },
    ],
  },
  groups: 100,
  cores: 100,
};

/** No limits, for tests of other behavior. */
export const noLimits: CallLimits = { buckets: {}, windows: {}, groups: Infinity, cores: Infinity };

/** Counts requests and refuses those above the limits, with 429 and Retry-After. */
export class CallLimiter {
  limits: CallLimits;
  readonly #clock: Clock;
  readonly #levels = new Map<CallClass, { readonly tokens: number; readonly atMs: number }>();
  readonly #accepted: Record<"write" | "delete", number[]> = { write: [], delete: [] };

  constructor(limits: CallLimits, clock: Clock) {
    this.limits = limits;
    this.#clock = clock;
  }

  /** Takes a token of Azure Resource Manager's bucket. @throws ArmError 429 */
  admit(kind: CallClass): void {
    const bucket = this.limits.buckets[kind];
    if (bucket === undefined) return;
    const nowMs = this.#clock.monotonic();
    const { tokens, atMs } = this.#levels.get(kind) ?? { tokens: bucket.size, atMs: nowMs };
    const level = Math.min(bucket.size, tokens + ((nowMs - atMs) / 1000) * bucket.perSecond);
    this.#levels.set(kind, { tokens: level < 1 ? level : level - 1, atMs: nowMs });
    if (level < 1)
      throw new ArmError(429, "SubscriptionRequestsThrottled", "Number of requests for the subscription exceeded the limit.", {
        "retry-after": String(Math.ceil((1 - level) / bucket.perSecond)),
      });
  }

  /** Counts a create or delete of a container group. @throws ArmError 429 */
  admitChange(kind: "write" | "delete"): void {
    const nowMs = this.#clock.monotonic();
    for (const { count, windowMs } of this.limits.windows[kind] ?? []) {
      const recent = this.#accepted[kind].filter((atMs) => atMs > nowMs - windowMs);
      const [oldest = 0] = recent.slice(-count);
      if (recent.length >= count)
        throw new ArmError(429, "TooManyRequests", `The number of requests exceeds ${count} in ${windowMs / 60_000} minutes.`, {
          "retry-after": String(Math.ceil((oldest + windowMs - nowMs) / 1000)),
        });
    }
    this.#accepted[kind].push(nowMs);
  }
}
