import { untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
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

/** How long an aborted call may take to come back before it is left to itself. */
const abortGraceMs = 5_000;

/** Longest deadline of `getPods`: everything that is known of a node's pods may depend on it. */
const maxListMs = 60_000;

/** Methods that change nothing: they may be under way beside any other call. */
const asks: ReadonlySet<string> = new Set(["getPod", "getPodStatus"]);

/** Of one call. */
interface CallOptions {
  readonly signal: AbortSignal;
  /** Longest deadline in milliseconds, within {@link ProviderCallsOptions.timeoutMs}. */
  readonly maxMs?: number | undefined;
}

export interface ProviderCallsOptions {
  readonly provider: PodLifecycleHandler;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  /** Deadline of one call in milliseconds; `getPods` has a minute at most. */
  readonly timeoutMs: number;
  /** Takes the secrets of the pod of that UID out of what the provider throws; default: nothing is taken out. */
  readonly redact?: ((uid: string, error: unknown) => unknown) | undefined;
  /** Told when a call about a pod is given up: it ignored its signal. Not told of calls that only ask. */
  readonly onGivenUp: (ref: PodRef) => void;
  /** Told when a call that had been given up comes back after all: what it did must be looked at. */
  readonly onLateEnd: (ref: PodRef) => void;
}

/**
 * Calls a provider safely: each call has a deadline, what it returns is checked, what it throws becomes a rejection,
 * and a provider that ignores its signal holds nobody up for longer than five seconds.
 */
export class ProviderCalls {
  readonly #options: ProviderCallsOptions;
  /** Settles when the `getPods` under way comes back. */
  #listing: Promise<void> | undefined;
  /** Calls that were given up and have not come back, as `method uid`. */
  readonly #unanswered = new Set<string>();

  constructor(options: ProviderCallsOptions) {
    this.#options = options;
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

  /** @param maxMs - longest deadline in milliseconds; default: that of all calls */
  async getPodStatus(ref: PodRef, signal: AbortSignal, maxMs?: number): Promise<ProviderPodStatus> {
    return checkStatus(
      await this.#call("getPodStatus", ref, { signal, maxMs }, (inner) => this.#options.provider.getPodStatus(ref, inner)),
      "getPodStatus",
    );
  }

  /** Never two at once: a second caller waits, within its own deadline, until the first call has come back. */
  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    return checkPodList(await this.#call("getPods", undefined, { signal, maxMs: maxListMs }, (inner) => this.#listAlone(inner)));
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
      throw new DeadlineExceededError(`${describe(method, ref)}: the last call has still not come back`);
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

  /** Settles as the call does; a call that is aborted has some seconds for that. */
  #race<T>(
    method: string,
    ref: PodRef | undefined,
    { signal: outer, maxMs = Infinity }: CallOptions,
    start: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#options;
    const timeoutMs = Math.min(this.#options.timeoutMs, maxMs);
    // A tracer may take its time before it begins.
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
        grace = clock.setTimer(abortGraceMs, () =>
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
      const deadline = clock.setTimer(timeoutMs, () =>
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
    logger.warn({ method, pod: ref && `${ref.namespace}/${ref.name}` }, "provider ignores its abort signal; the call is left to itself");
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
