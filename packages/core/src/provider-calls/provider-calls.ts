import { untilAborted } from "@virtual-kubelet/async";
import { SharedTimers, type Clock } from "@virtual-kubelet/clock";
import { codeOf, DeadlineExceededError } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Logger, Metrics, Pod, Tracer } from "@virtual-kubelet/kube-client";
import type { PodRef } from "../provider/pod-ref.ts";
import { podSpan } from "./pod-span.ts";
import { checkPodList, checkPodOf, checkStatus } from "./provider-output.ts";
import type {
  DeletePodOptions,
  PodChanges,
  PodLifecycleHandler,
  ProviderPod,
  ProviderPodList,
  ProviderPodStatus,
} from "../provider/pod-lifecycle.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";

/** Time that an aborted call has to return before it is given up. */
const abortGraceMs = 5_000;

/** Maximum deadline of `getPods`, because all knowledge of a node's pods may depend on it. */
const maxListMs = 60_000;

/** Read-only methods, which may overlap with any other call. */
const asks: ReadonlySet<string> = new Set(["getPod", "getPodStatus"]);

interface CallOptions {
  readonly signal: AbortSignal;
  /** Maximum deadline in milliseconds, within {@link ProviderCallsOptions.timeoutMs}. */
  readonly maxMs?: number | undefined;
}

export interface ProviderCallsOptions {
  readonly provider: PodLifecycleHandler;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  /** Deadline of one call in milliseconds; at most a minute for `getPods`. */
  readonly timeoutMs: number;
  /** Removes the secrets of the pod with that UID from the provider's error. Default: the error is unchanged. */
  readonly redact?: ((uid: string, error: unknown) => unknown) | undefined;
  /** Called when a call about a pod that ignored its signal is given up. Not called for read-only calls. */
  readonly onGivenUp: (ref: PodRef) => void;
  /** Called when a call that had been given up returns, because its effect has to be checked. */
  readonly onLateEnd: (ref: PodRef) => void;
}

/**
 * Calls a provider safely: each call has a deadline, its result is checked, its exception becomes a rejection,
 * and a provider that ignores its signal delays callers by at most five seconds.
 */
export class ProviderCalls {
  readonly #options: ProviderCallsOptions;
  readonly #timers: SharedTimers;
  /** Settles when the `getPods` in progress returns. */
  #listing: Promise<void> | undefined;
  /** Calls that were given up and have not returned, as `method uid`. */
  readonly #unanswered = new Set<string>();

  constructor(options: ProviderCallsOptions) {
    this.#options = options;
    this.#timers = new SharedTimers(options.clock);
  }

  createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, ref: PodRef, signal: AbortSignal): Promise<void> {
    return this.#call("createPod", ref, { signal }, (inner) => this.#options.provider.createPod(pod, resolved, inner));
  }

  updatePod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, ref: PodRef, signal: AbortSignal, changes: PodChanges): Promise<void> {
    return this.#call("updatePod", ref, { signal }, (inner) => this.#options.provider.updatePod(pod, resolved, inner, changes));
  }

  deletePod(ref: PodRef, options: DeletePodOptions, signal: AbortSignal): Promise<void> {
    return this.#call("deletePod", ref, { signal }, (inner) => this.#options.provider.deletePod(ref, options, inner));
  }

  async getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    return checkPodOf(ref, await this.#call("getPod", ref, { signal }, (inner) => this.#options.provider.getPod(ref, inner)), "getPod");
  }

  /** @param maxMs - maximum deadline in milliseconds; default: that of all calls */
  async getPodStatus(ref: PodRef, signal: AbortSignal, maxMs?: number): Promise<ProviderPodStatus> {
    return checkStatus(
      await this.#call("getPodStatus", ref, { signal, maxMs }, (inner) => this.#options.provider.getPodStatus(ref, inner)),
      "getPodStatus",
    );
  }

  /** Calls never overlap: a second caller waits, within its own deadline, until the first call has returned. */
  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    const list = await this.#call("getPods", undefined, { signal, maxMs: maxListMs }, (inner) => this.#listAlone(inner));
    return checkPodList(list, { clock: this.#options.clock, signal });
  }

  async #listAlone(signal: AbortSignal): Promise<ProviderPodList> {
    while (this.#listing) await untilAborted(this.#listing, signal);
    const work = (async () => this.#options.provider.getPods(signal))();
    const onEnd = (): void => {
      this.#listing = undefined;
    };
    this.#listing = work.then(onEnd, onEnd);
    return work;
  }

  async #call<T>(method: string, ref: PodRef | undefined, options: CallOptions, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, metrics, tracer } = this.#options;
    const { signal } = options;
    signal.throwIfAborted();
    if (ref && this.#unanswered.has(`${method} ${ref.uid}`))
      throw new DeadlineExceededError(`${describe(method, ref)}: the previous call has not returned yet`);
    const startedMs = clock.monotonic();
    let code = "OK";
    try {
      return await tracer.span(`provider.${method}`, ref ? podSpan(ref) : {}, () => this.#race(method, ref, options, start));
    } catch (error) {
      code = codeOf(error) ?? "UNKNOWN";
      throw ref && this.#options.redact && error !== signal.reason ? this.#options.redact(ref.uid, error) : error;
    } finally {
      metrics.count("vk_provider_calls_total", { method, code });
      metrics.observe("vk_provider_call_duration_seconds", (clock.monotonic() - startedMs) / 1000, { method });
    }
  }

  /** Settles with the call; an aborted call has some seconds to settle. */
  #race<T>(
    method: string,
    ref: PodRef | undefined,
    { signal: outer, maxMs = Infinity }: CallOptions,
    start: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const timeoutMs = Math.min(this.#options.timeoutMs, maxMs);
    // A tracer may delay the start.
    if (outer.aborted) return Promise.reject(outer.reason as Error);
    return new Promise<T>((resolve, reject) => {
      const inner = new AbortController();
      let grace: Disposable | undefined;
      let isOver = false;
      const settle = (act: () => void): void => {
        if (isOver) return;
        isOver = true;
        deadline[Symbol.dispose]();
        grace?.[Symbol.dispose]();
        outer.removeEventListener("abort", onAbort);
        act();
      };
      const giveUp = (reason: unknown): void => {
        if (inner.signal.aborted) return;
        inner.abort(reason);
        grace = this.#timers.setTimer(abortGraceMs, () =>
          settle(() => {
            try {
              this.#onAbandoned(method, ref, work);
              reject(inner.signal.reason);
            } catch (error) {
              reject(error);
            }
          }),
        );
      };
      const onAbort = (): void => giveUp(outer.reason);
      outer.addEventListener("abort", onAbort, { once: true });
      const deadline = this.#timers.setTimer(timeoutMs, () =>
        giveUp(new DeadlineExceededError(`${describe(method, ref)}: no answer within ${timeoutMs / 1000} s`)),
      );
      const work = (async () => start(inner.signal))();
      work.then(
        (value) => settle(() => resolve(value)),
        (error: unknown) => settle(() => reject(inner.signal.aborted ? inner.signal.reason : error)),
      );
    });
  }

  #onAbandoned(method: string, ref: PodRef | undefined, work: Promise<unknown>): void {
    const { logger, metrics, onGivenUp, onLateEnd } = this.#options;
    logger.warn(
      { method, pod: ref && `${ref.namespace}/${ref.name}` },
      "provider ignores its abort signal; the call is no longer waited for",
    );
    metrics.count("vk_provider_abandoned_calls_total", { method });
    if (!ref) return;
    const key = `${method} ${ref.uid}`;
    const isAsking = asks.has(method);
    this.#unanswered.add(key);
    if (!isAsking) onGivenUp(ref);
    const onLate = (): void => {
      this.#unanswered.delete(key);
      if (!isAsking) onLateEnd(ref);
    };
    work.then(onLate, onLate);
  }
}

function describe(method: string, ref: PodRef | undefined): string {
  return ref ? `${method} of pod ${ref.namespace}/${ref.name}` : method;
}
