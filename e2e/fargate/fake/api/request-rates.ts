import type { Clock } from "@virtual-kubelet/clock";
import { AwsError } from "./aws-error.ts";

/** A rate as a token bucket: requests at once, and per second in the long run. */
export interface RequestRate {
  readonly burst: number;
  readonly perSecond: number;
}

/**
 * Rates of an account in a region. RunTask and launches: "Fargate throttling quotas" in the ECS developer guide; FilterLogEvents:
 * "CloudWatch Logs quotas". The others are not published exactly; these are low estimates, so that a client that stays below them is polite.
 */
export const publishedRates: Readonly<Record<string, RequestRate>> = {
  RunTask: { burst: 100, perSecond: 20 },
  StopTask: { burst: 100, perSecond: 20 },
  DescribeTasks: { burst: 100, perSecond: 20 },
  ListTasks: { burst: 100, perSecond: 20 },
  RegisterTaskDefinition: { burst: 20, perSecond: 1 },
  DeregisterTaskDefinition: { burst: 20, perSecond: 1 },
  DeleteTaskDefinitions: { burst: 20, perSecond: 1 },
  DescribeTaskDefinition: { burst: 100, perSecond: 20 },
  ListTaskDefinitionFamilies: { burst: 100, perSecond: 20 },
  ListTaskDefinitions: { burst: 100, perSecond: 20 },
  TagResource: { burst: 20, perSecond: 10 },
  UntagResource: { burst: 20, perSecond: 10 },
  ExecuteCommand: { burst: 20, perSecond: 10 },
  GetLogEvents: { burst: 25, perSecond: 25 },
  FilterLogEvents: { burst: 5, perSecond: 5 },
};

/** Answers requests above a rate with ThrottlingException, and counts all of them. */
export class RequestRates {
  /** Rate of each operation. An operation that is not listed is not limited. */
  rates: Readonly<Record<string, RequestRate>>;
  /** Requests so far, by operation; those that were refused are included. */
  readonly counts: Map<string, number> = new Map();
  /** Requests that were refused, by operation. */
  readonly throttled: Map<string, number> = new Map();
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();
  readonly #clock: Clock;

  constructor(clock: Clock, rates: Readonly<Record<string, RequestRate>>) {
    this.#clock = clock;
    this.rates = rates;
  }

  /** @throws AwsError `ThrottlingException` */
  take(operation: string, tokens: number = 1): void {
    increment(this.counts, operation);
    const rate = this.rates[operation];
    if (rate === undefined) return;
    const nowMs = this.#clock.monotonic();
    const bucket = this.#buckets.get(operation) ?? { tokens: rate.burst, atMs: nowMs };
    this.#buckets.set(operation, bucket);
    bucket.tokens = Math.min(rate.burst, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * rate.perSecond);
    bucket.atMs = nowMs;
    if (bucket.tokens < tokens) {
      increment(this.throttled, operation);
      throw new AwsError("ThrottlingException", "Rate exceeded");
    }
    bucket.tokens -= tokens;
  }
}

function increment(counts: Map<string, number>, operation: string): void {
  counts.set(operation, (counts.get(operation) ?? 0) + 1);
}
