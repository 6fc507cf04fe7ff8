import type { Clock, Random } from "@virtual-kubelet/clock";
import { DeadlineExceededError, isDeadlineExceeded, isUnavailable, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { statusOf, type Metrics } from "@virtual-kubelet/kube-client";

/** Attempts for one review, and the delay before the second. Source: apiserver DefaultAuthWebhookRetryBackoff, which the kubelet uses. */
const maxTries = 5;
const firstWaitMs = 500;
const waitFactor = 1.5;
const waitJitter = 0.2;

/** Timeout of one attempt. Source: kubernetes v1.36.3 cmd/kubelet/app/auth.go. */
const tryTimeoutMs = 10_000;

export interface ReviewCallOptions {
  /** What is attempted, for error messages, such as `review a bearer token`. */
  readonly what: string;
  /** Part of the metric names `apiserver_delegated_<metric>_request_total` and `…_request_duration_seconds`, by `code`. */
  readonly metric: "authn" | "authz";
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

/**
 * Asks the API server, with up to five attempts in about four seconds while it is unreachable or overloaded.
 *
 * @throws UnavailableError for every failure, because the access remains undecided; `signal.reason` when aborted
 */
export async function callReview<T>(call: (signal: AbortSignal) => Promise<T>, options: ReviewCallOptions): Promise<T> {
  const { what, clock, random, signal } = options;
  for (let tries = 1, waitMs = firstWaitMs; ; tries++, waitMs *= waitFactor) {
    try {
      return await tryOnce(call, options);
    } catch (error) {
      signal.throwIfAborted();
      const mayHelp = isUnavailable(error) || isDeadlineExceeded(error);
      if (!mayHelp || tries >= maxTries) throw new UnavailableError(`${what}: ${messageOf(error)}`, { cause: error });
    }
    await clock.sleep(waitMs * (1 + waitJitter * random.next()), signal);
  }
}

async function tryOnce<T>(
  call: (signal: AbortSignal) => Promise<T>,
  { what, metric, clock, metrics, signal }: ReviewCallOptions,
): Promise<T> {
  signal.throwIfAborted();
  const timeout = new AbortController();
  using _timer = clock.setTimer(tryTimeoutMs, () =>
    timeout.abort(new DeadlineExceededError(`${what}: no answer within ${tryTimeoutMs / 1000} s`)),
  );
  const startMs = clock.monotonic();
  let code = "201";
  try {
    return await call(AbortSignal.any([signal, timeout.signal]));
  } catch (error) {
    code = String(statusOf(error)?.code ?? "<error>");
    throw error;
  } finally {
    metrics.count(`apiserver_delegated_${metric}_request_total`, { code });
    metrics.observe(`apiserver_delegated_${metric}_request_duration_seconds`, (clock.monotonic() - startMs) / 1000, { code });
  }
}
