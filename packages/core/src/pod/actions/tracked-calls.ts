import { LinkedSignal } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { CallSlots } from "./call-slots.ts";
import type { EndTimes, PodEvent } from "../state/pod-event.ts";
import type { ProviderCall } from "../state/pod-state.ts";
import type { PodRegistry } from "../state/pod-registry.ts";

/** How long a pod waits for its turn, or for its call to come back, before an event says so. */
const slowCallMs = 30_000;

/** How a call that failed is taken: nothing was done, or nobody knows what was, or there may be no such pod. */
export type FailureKind = "refused" | "failed" | "doubted";

/** A provider call about one pod. */
export interface TrackedCallOptions {
  /** The pod that the provider is given. */
  readonly pod: DeepReadonly<Pod> | undefined;
  /** Of a delete. */
  readonly end?: EndTimes;
  readonly signal: AbortSignal;
  readonly takes: (error: unknown) => FailureKind;
}

/** What {@link TrackedCalls} needs. */
export interface TrackedCallsOptions {
  readonly registry: PodRegistry;
  /** Turns of calls that start and change pods, and of those that end them: neither waits for the other. */
  readonly slots: { readonly start: CallSlots; readonly end: CallSlots };
  /** Called with a reason and a message when a pod waits for long, for its turn or for its call. */
  readonly onSlow: (pod: DeepReadonly<Pod>, reason: string, message: string) => void;
  readonly clock: Clock;
}

/** Makes provider calls in their turn, and notes in the pods' registry how they went. */
export class TrackedCalls {
  readonly #options: TrackedCallsOptions;

  constructor(options: TrackedCallsOptions) {
    this.#options = options;
  }

  /** Makes a call in its turn; it ends early when the pod is deleted. Its outcome is in the pod's state when this returns. */
  async call(
    kind: ProviderCall["kind"],
    uid: string,
    how: TrackedCallOptions,
    start: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const { clock, slots, registry } = this.#options;
    const { pod, end, takes } = how;
    using abort = new LinkedSignal(how.signal);
    const { signal } = abort;
    // The wait for the turn is part of it: who looks at a slow start a second later must find it slow.
    const call: ProviderCall = { kind, abort, startedMs: clock.monotonic(), isGivenUp: false, reportedGone: false };
    registry.dispatch(uid, { kind: "queued", call });
    let event: PodEvent = { kind: "dequeued" };
    try {
      using _slot = await this.#acquire(kind, slots[kind === "delete" ? "end" : "start"], pod, signal);
      registry.dispatch(uid, { kind: "called", call, pod, end });
      event = { kind: "failed", message: "the call was broken off" };
      using _slow = this.#warnLater(pod, "ProviderNotResponding", `the provider has not answered for ${slowCallMs / 1000} s: ${kind}`);
      try {
        await start(signal);
        event = { kind: "returned", pod };
      } catch (error) {
        const failure = takes(error);
        event = failure === "doubted" ? { kind: failure } : { kind: failure, pod, message: messageOf(error) };
        throw error;
      }
    } finally {
      registry.dispatch(uid, event);
    }
  }

  async #acquire(
    kind: ProviderCall["kind"],
    slots: CallSlots,
    pod: DeepReadonly<Pod> | undefined,
    signal: AbortSignal,
  ): Promise<Disposable> {
    signal.throwIfAborted();
    const free = slots.tryAcquire();
    if (free) return free;
    using _slow = this.#warnLater(
      pod,
      "ProviderBusy",
      `the pod has waited ${slowCallMs / 1000} s for its turn to ${kind}: other calls take long`,
    );
    return await slots.acquire(signal);
  }

  /** An event, unless the returned is disposed of before. */
  #warnLater(pod: DeepReadonly<Pod> | undefined, reason: string, message: string): Disposable {
    const { clock, onSlow } = this.#options;
    return clock.setTimer(slowCallMs, () => pod && onSlow(pod, reason, message));
  }
}
