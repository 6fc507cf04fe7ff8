import { LinkedSignal, type Semaphore } from "@virtual-kubelet/async";
import { SharedTimers, type Clock } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { EndTimes, PodEvent } from "../state/pod-event.ts";
import type { PodRegistry } from "../state/pod-registry.ts";
import type { ProviderCall } from "../state/pod-state.ts";
import type { CoreReason } from "../../reasons/core-reasons.ts";
import { slowStartMs } from "../status/wanted-status.ts";

/** Time that a pod waits for a permit, or for the return of its call, before an event reports the delay. */
const slowCallMs = 30_000;

/** Time that a call holds its permit. A longer call continues without one, because calls that hang would otherwise block all pods. */
export const permitHoldMs = 5_000;

/**
 * Semaphores for calls that start and change pods, for calls that end pods, for questions to the provider, and for questions to the API
 * server: none waits for the others.
 */
export interface CallPermits {
  readonly start: Semaphore;
  readonly end: Semaphore;
  readonly ask: Semaphore;
  readonly confirm: Semaphore;
}

/** Consequence of a failed call: the provider did nothing (`refused`), may have acted (`failed`), or may not hold the pod (`doubted`). */
export type FailureKind = "refused" | "failed" | "doubted";

export interface TrackedCallOptions {
  /** The pod that is passed to the provider. */
  readonly pod: DeepReadonly<Pod> | undefined;
  /** Set for a delete. */
  readonly end?: EndTimes;
  readonly signal: AbortSignal;
  readonly classify: (error: unknown) => FailureKind;
}

export interface TrackedCallsOptions {
  readonly registry: Pick<PodRegistry, "dispatch">;
  readonly permits: Pick<CallPermits, "start" | "end">;
  /** Called when a pod has waited long for a permit or for the return of its call. */
  readonly onSlow: (pod: DeepReadonly<Pod>, reason: CoreReason, message: string) => void;
  /** Called when a start has become slow, which is shown in the pod's status. */
  readonly enqueueStatus: (uid: string) => void;
  readonly clock: Clock;
}

/** Makes provider calls as permits become free, and dispatches their course as events to the pod registry. */
export class TrackedCalls {
  readonly #options: TrackedCallsOptions;
  /** Each call sets several timers, and few of them fire. */
  readonly #timers: SharedTimers;

  constructor(options: TrackedCallsOptions) {
    this.#options = options;
    this.#timers = new SharedTimers(options.clock);
  }

  /** Makes a call once a permit is free. A deletion of the pod aborts it. The outcome is in the pod's state when this returns. */
  async call(
    kind: ProviderCall["kind"],
    uid: string,
    { pod, end, classify, signal: outer }: TrackedCallOptions,
    start: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const { clock, registry } = this.#options;
    using abort = new LinkedSignal(outer);
    const { signal } = abort;
    // The wait for a permit counts as part of the call, so that a pod that waits is shown as a slow start.
    const call: ProviderCall = { kind, abort, startedMs: clock.monotonic(), isGivenUp: false, reportedGone: false };
    signal.throwIfAborted();
    const free = this.#semaphoreOf(kind).tryAcquire();
    if (!free) registry.dispatch(uid, { kind: "queued", call });
    using _slowStart = kind === "start" ? this.#timers.setTimer(slowStartMs + 1, () => this.#options.enqueueStatus(uid)) : undefined;
    let event: PodEvent = { kind: "dequeued" };
    try {
      using permit = free ?? (await this.#acquire(kind, pod, signal));
      using _hold = this.#timers.setTimer(permitHoldMs, () => permit[Symbol.dispose]());
      registry.dispatch(uid, { kind: "called", call, pod, end });
      event = { kind: "failed", message: "the call was aborted" };
      using _slow = this.#warnLater(pod, "ProviderNotResponding", `the provider has not answered for ${slowCallMs / 1000} s: ${kind}`);
      try {
        await start(signal);
        event = { kind: "returned", pod };
      } catch (error) {
        const failure = classify(error);
        event = failure === "doubted" ? { kind: failure } : { kind: failure, pod, message: messageOf(error) };
        throw error;
      }
    } finally {
      registry.dispatch(uid, event);
    }
  }

  #semaphoreOf(kind: ProviderCall["kind"]): Semaphore {
    return this.#options.permits[kind === "delete" ? "end" : "start"];
  }

  async #acquire(kind: ProviderCall["kind"], pod: DeepReadonly<Pod> | undefined, signal: AbortSignal): Promise<Disposable> {
    using _slow = this.#warnLater(
      pod,
      "ProviderBusy",
      `the pod has waited ${slowCallMs / 1000} s for its turn to ${kind}: other calls take long`,
    );
    return await this.#semaphoreOf(kind).acquire(signal);
  }

  /** Reports the delay unless the returned timer is disposed of in time. */
  #warnLater(pod: DeepReadonly<Pod> | undefined, reason: CoreReason, message: string): Disposable | undefined {
    return pod && this.#timers.setTimer(slowCallMs, () => this.#options.onSlow(pod, reason, message));
  }
}
