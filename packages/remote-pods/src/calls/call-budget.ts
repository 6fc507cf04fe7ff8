import { LinkedSignal, withDeadline, type Deadline } from "@virtual-kubelet/async";
import type { Clock, Metrics, Random } from "@virtual-kubelet/core";
import { codeOf, isRetryable, UnavailableError, type ErrorCode } from "@virtual-kubelet/errdefs";
import { backoffMs, retryAfterMsOf, type Backoff } from "@virtual-kubelet/kube-client";
import type { BackendLimits, CallClass } from "../backend/backend-limits.ts";
import { CallQueue, type CallPriority } from "./call-queue.ts";
import { rateLimiter } from "./rate-limiter.ts";
import { isThrottled, ThrottledError } from "./throttled-error.ts";

export type { CallPriority } from "./call-queue.ts";

/** A request to the back end, for its {@link CallBudget}. */
export interface BudgetedCall {
  /** Class whose rates apply. */
  readonly class: CallClass;
  /** The vendor's name of the operation, such as `ContainerGroups_Get`; a label of metrics, without ids. */
  readonly operation: string;
  /** Whether repeating the request has no further effect: reads, deletes, and creates with a name or a token. */
  readonly isIdempotent: boolean;
  /** Default: `background` in the class `read`, `urgent` in all others. */
  readonly priority?: CallPriority | undefined;
  /**
   * Whether the call waits while the back end has asked for a pause. `false`: it fails at once with a ThrottledError, such as a ping, because a back
   * end that throttles is not down. Default: `true`.
   */
  readonly waitsForPause?: boolean | undefined;
}

/** Options of a {@link CallBudget}. */
export interface CallBudgetOptions {
  /** Name of the back end; a label of metrics, such as `aci`. */
  readonly backEnd: string;
  readonly rates: BackendLimits["rates"];
  /** Milliseconds from the moment a request is sent. Default: 120,000, which is longer than the gateways of clouds wait. */
  readonly callTimeoutMs?: BackendLimits["callTimeoutMs"];
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  /** Share of each published rate that is used; more than 0, at most 1. Default: 0.7, because other programs share the account. */
  readonly share?: number | undefined;
  /** Maximum number of attempts of one call; 1 or more. Default: 4. */
  readonly maxAttempts?: number | undefined;
}

const defaultCallTimeoutMs = 120_000;

/** Back-off between the attempts of a call. */
const retryBackoff: Backoff = { initialMs: 500, maxMs: 20_000 };

/** Pause of a class whose back end refuses requests without saying for how long. */
const throttleBackoff: Backoff = { initialMs: 1_000, maxMs: 60_000 };

/** Longest pause that a back end can ask for: that of a limit counted by the hour. */
const maxPauseMs = 3_600_000;

/** Errors that the same request meets again until somebody acts, or that the caller has to judge. */
const notTransient: ReadonlySet<ErrorCode | undefined> = new Set([
  "VK_CONFLICT",
  "VK_UNAUTHORIZED",
  "VK_FORBIDDEN",
  "VK_QUOTA_EXCEEDED",
] as const);

/** Requests of one class, with the number of refusals in a row of each operation, because back ends limit some operations by themselves. */
interface CallClassState {
  readonly queue: CallQueue;
  readonly throttles: Map<string, number>;
}

/**
 * Budget of requests to a back end. A client sends every HTTP request through {@link run}, which waits until all rates of its class allow it,
 * pauses the class for as long as the back end asks, repeats what may be repeated, and gives up a request that is never answered.
 *
 * Share one budget among all clients that use the same account. A new budget does not know which requests were made before.
 *
 * Metrics, all with the label `backend`: `virtual_kubelet_backend_requests_total` counts requests by `class`, `operation` and `outcome` (`ok`,
 * `throttled`, `aborted`, an error code such as `unavailable`, or `error`), `virtual_kubelet_backend_wait_seconds` their waits, and
 * `virtual_kubelet_backend_budget_used_ratio` is the used share of the published rates of a class.
 */
export class CallBudget implements Disposable {
  readonly #options: CallBudgetOptions;
  readonly #share: number;
  readonly #maxAttempts: number;
  readonly #classes = new Map<CallClass, CallClassState>();
  readonly #closed = new AbortController();
  readonly #gauges: (Disposable | undefined)[];

  constructor(options: CallBudgetOptions) {
    this.#options = options;
    this.#share = options.share ?? 0.7;
    this.#maxAttempts = options.maxAttempts ?? 4;
    this.#gauges = Object.keys(options.rates).map((name) => {
      const { queue } = this.#classOf(name);
      return options.metrics.sampled?.("virtual_kubelet_backend_budget_used_ratio", () => queue.usedRatio, {
        backend: options.backEnd,
        class: name,
      });
    });
  }

  /** Number of requests that wait for their turn. */
  get waiting(): number {
    return [...this.#classes.values()].reduce((sum, { queue }) => sum + queue.waiting, 0);
  }

  /**
   * Sends a request as soon as the budget allows it.
   *
   * The call is repeated, with a jittered back-off of 0.5 s to 20 s and at most four attempts in all, after an error that may pass by itself: for
   * an idempotent call UnavailableError, DeadlineExceededError or an error without a code, for any other only a `ThrottledError`, which says that
   * the back end did nothing. ConflictError, UnauthorizedError, ForbiddenError and QuotaExceededError are the caller's to judge.
   *
   * `retryAfterMs` of an UnavailableError pauses the class for all callers, at most for an hour (that of a QuotaExceededError is about one pod); a `ThrottledError` without it
   * pauses the class for 1 s, and longer each time until a request of the same operation succeeds.
   *
   * A request that is not answered within `callTimeoutMs` is aborted. It is not repeated, because the caller has waited long, and no longer waited
   * for, even if `send` ignores its signal. As after every lost answer, it is unknown whether the request was carried out.
   *
   * @param send - sends one HTTP request; called once for each attempt
   * @throws what the last attempt throws; DeadlineExceededError if it is not answered; `signal.reason` when aborted; UnavailableError when the
   * budget is disposed of
   */
  async run<T>(call: BudgetedCall, signal: AbortSignal, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    using linked = new LinkedSignal(signal, this.#closed.signal);
    for (let attempt = 1; ; attempt++) {
      await this.#acquire(call, linked.signal);
      let attemptSignal: AbortSignal | undefined;
      try {
        const answer = await withDeadline(this.#deadline(call), linked.signal, (inner) => send((attemptSignal = inner)));
        this.#classOf(call.class).throttles.delete(call.operation);
        this.#count(call, "ok");
        return answer;
      } catch (error) {
        if (linked.signal.aborted) {
          this.#count(call, "aborted");
          throw linked.signal.reason;
        }
        this.#count(call, outcomeOf(error));
        if (attemptSignal?.aborted) throw error;
        const isPaused = this.#pause(call, error);
        if (attempt >= this.#maxAttempts || !mayRepeat(call, error)) throw error;
        const { clock, random } = this.#options;
        if (!isPaused) await clock.sleep(backoffMs(retryBackoff, attempt, random), linked.signal);
      }
    }
  }

  /** Aborts all calls, also those that wait, with an UnavailableError. */
  [Symbol.dispose](): void {
    for (const gauge of this.#gauges) gauge?.[Symbol.dispose]();
    this.#closed.abort(new UnavailableError(`call ${this.#options.backEnd}: the provider is being closed`));
  }

  #deadline({ operation }: BudgetedCall): Deadline {
    const { clock, backEnd, callTimeoutMs = defaultCallTimeoutMs } = this.#options;
    return { clock, timeoutMs: callTimeoutMs, what: `call ${operation} of ${backEnd}` };
  }

  async #acquire(call: BudgetedCall, signal: AbortSignal): Promise<void> {
    const { clock, metrics, backEnd } = this.#options;
    const { queue } = this.#classOf(call.class);
    const { pausedMs } = queue;
    if (call.waitsForPause === false && pausedMs > 0)
      throw new ThrottledError(`${call.operation}: ${backEnd} has asked for a pause of its requests`, { retryAfterMs: pausedMs });
    const startedMs = clock.monotonic();
    await queue.acquire(call.priority ?? (call.class === "read" ? "background" : "urgent"), signal);
    metrics.observe("virtual_kubelet_backend_wait_seconds", (clock.monotonic() - startedMs) / 1000, {
      backend: backEnd,
      class: call.class,
    });
  }

  /** Pauses the class if the error asks for it. @returns whether it does */
  #pause({ class: name, operation }: BudgetedCall, error: unknown): boolean {
    const { queue, throttles } = this.#classOf(name);
    const code = codeOf(error);
    const askedMs = code === "VK_UNAVAILABLE" ? retryAfterMsOf(error) : undefined;
    if (!isThrottled(error) && askedMs === undefined) return false;
    const count = (throttles.get(operation) ?? 0) + (isThrottled(error) ? 1 : 0);
    throttles.set(operation, count);
    queue.pause(Math.min(maxPauseMs, askedMs ?? backoffMs(throttleBackoff, count, this.#options.random)));
    return true;
  }

  #count({ class: name, operation }: BudgetedCall, outcome: string): void {
    const labels = { backend: this.#options.backEnd, class: name, operation, outcome };
    this.#options.metrics.count("virtual_kubelet_backend_requests_total", labels);
  }

  #classOf(name: CallClass): CallClassState {
    const known = this.#classes.get(name);
    if (known) return known;
    const limiters = (this.#options.rates[name] ?? []).map((rate) => rateLimiter(rate, this.#share));
    const state: CallClassState = { queue: new CallQueue(this.#options.clock, limiters), throttles: new Map() };
    this.#classes.set(name, state);
    return state;
  }
}

function mayRepeat({ isIdempotent }: BudgetedCall, error: unknown): boolean {
  return isThrottled(error) || (isIdempotent && isRetryable(error) && !notTransient.has(codeOf(error)));
}

function outcomeOf(error: unknown): string {
  return isThrottled(error) ? "throttled" : (codeOf(error)?.replace(/^VK_/, "").toLowerCase() ?? "error");
}
