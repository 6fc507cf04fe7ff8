import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { Rate } from "../backend/backend-limits.ts";

/** Counts the requests of one rate. All times are monotonic milliseconds. */
export interface RateLimiter {
  /** Time from which the next request is allowed; it may be in the past. */
  nextMs(): number;
  /** Counts a request. */
  take(nowMs: number): void;
  /** Lets the rate recover only from then on, because the back end has just said that it is exceeded. */
  drain(untilMs: number): void;
  /** Share of the published burst, or of the published requests of a window, that is used; 0 to 1. */
  usedRatio(nowMs: number): number;
}

/** Returns the rate of a limit such as 300 requests an hour. */
export function perWindow(requests: number, windowMs: number): Rate {
  return { burst: requests, perSecond: (requests * 1000) / windowMs, windowMs };
}

/**
 * Returns the limiter of a share of a rate.
 *
 * @param share - more than 0, at most 1
 * @throws InvalidInputError for a rate that allows nothing
 */
export function rateLimiter(rate: Rate, share: number): RateLimiter {
  if (!(rate.burst >= 1 && rate.perSecond > 0 && share > 0))
    throw new InvalidInputError(
      `limit requests: a burst of ${rate.burst} and ${rate.perSecond} per second, of which ${share} is used, allow none; expected more than 0`,
    );
  return rate.windowMs === undefined ? new TokenBucket(rate, share) : new SlidingWindow(rate, rate.windowMs, share);
}

/** Requests of a share of the burst; at least one, because otherwise none would ever be allowed. */
function sharedBurst({ burst }: Rate, share: number): number {
  return Math.max(1, Math.floor(burst * share));
}

/** A token bucket that is full at first, kept as the time at which it will be full again (GCRA, ITU-T I.371). */
class TokenBucket implements RateLimiter {
  readonly #published: number;
  readonly #burst: number;
  readonly #msPerToken: number;
  #fullMs = -Infinity;

  constructor(rate: Rate, share: number) {
    this.#published = rate.burst;
    this.#burst = sharedBurst(rate, share);
    this.#msPerToken = 1000 / (rate.perSecond * share);
  }

  nextMs(): number {
    return this.#fullMs - (this.#burst - 1) * this.#msPerToken;
  }

  take(nowMs: number): void {
    this.#fullMs = Math.max(nowMs, this.#fullMs) + this.#msPerToken;
  }

  drain(untilMs: number): void {
    this.#fullMs = Math.max(this.#fullMs, untilMs + (this.#burst - 1) * this.#msPerToken);
  }

  usedRatio(nowMs: number): number {
    return Math.min(1, Math.max(0, (this.#fullMs - nowMs) / this.#msPerToken) / this.#published);
  }
}

/** A number of requests in every window of a length. */
class SlidingWindow implements RateLimiter {
  readonly #published: number;
  readonly #requests: number;
  readonly #windowMs: number;
  /** Times of the last requests, the oldest first; at most {@link #requests}. */
  readonly #times: number[] = [];

  constructor(rate: Rate, windowMs: number, share: number) {
    this.#published = rate.burst;
    this.#requests = sharedBurst(rate, share);
    this.#windowMs = windowMs;
  }

  nextMs(): number {
    const [oldest] = this.#times;
    return oldest === undefined || this.#times.length < this.#requests ? -Infinity : oldest + this.#windowMs;
  }

  take(nowMs: number): void {
    this.#times.push(nowMs);
    if (this.#times.length > this.#requests) this.#times.shift();
  }

  drain(): void {
    // The requests that others have made leave the window at times that are not known.
  }

  usedRatio(nowMs: number): number {
    return this.#times.filter((time) => time > nowMs - this.#windowMs).length / this.#published;
  }
}
