/** Kind of a request, by which a back end counts its rates: `read`, `write` and `delete`, or names of its own such as `launch`. */
export type CallClass = string;

/** A published rate: a token bucket or, with {@link windowMs}, a number of requests in a window. */
export interface Rate {
  /** Requests that may follow each other at once; 1 or more. */
  readonly burst: number;
  /** Requests per second that are allowed in the long run; more than 0. */
  readonly perSecond: number;
  /**
   * Milliseconds, for a limit such as 300 an hour: no window of this length has more than {@link burst} requests. A token bucket would allow
   * nearly twice as many in its first hour. See `perWindow`. Default: a token bucket.
   */
  readonly windowMs?: number | undefined;
}

/** Limits of a back end, as its documentation gives them. remote-pods uses 70 % of each rate, because other programs share the account. */
export interface BackendLimits {
  /**
   * Published rate of each class of requests. A class that is not listed is not limited. The pace of descriptions follows the class `read`, so
   * {@link RemoteBackend.describe} must belong to it.
   */
  readonly rates: Readonly<Record<CallClass, readonly Rate[]>>;
  /**
   * Milliseconds after which a request without an answer is given up; longer than any answer takes. Its outcome is unknown then: what a create has
   * made is adopted. `CallBudget` enforces it. Default: 120,000.
   */
  readonly callTimeoutMs?: number | undefined;
  /** Maximum number of objects in one {@link RemoteBackend.describe}; 1 or more. */
  readonly describeBatch: number;
  /**
   * Effect of a repeated create. `name`: the object's id is derived from the pod, so no second object can exist. `token`: a create with the same
   * token returns the first object. `none`: every create makes another object.
   */
  readonly idempotency: "name" | "token" | "none";
  /** Milliseconds after a create within which lists and describes may still omit the object, unless they have shown it before. */
  readonly visibleAfterMs: number;
  /** Milliseconds for which the back end keeps an object that has ended. `undefined`: until it is deleted. */
  readonly keepsEndedMs?: number | undefined;
  /**
   * Milliseconds after which {@link RemoteBackend.logSnapshot} returns a line that a container has written. `logs -f` reads on for as long after
   * the container's end. Default: 0.
   */
  readonly logDelayMs?: number | undefined;
  /**
   * Whether every change of an object changes its version in lists, so that unchanged objects are never described. Default: `false`: they are
   * described at long intervals.
   */
  readonly listShowsChanges?: boolean | undefined;
}
