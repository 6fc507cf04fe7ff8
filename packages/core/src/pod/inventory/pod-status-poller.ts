import type { Clock } from "@virtual-kubelet/clock";
import type { DeepReadonly, Pod, Store } from "@virtual-kubelet/kube-client";
import { isPodNotFound } from "../../provider-calls/not-found.ts";
import type { PodRef } from "../../provider/pod-ref.ts";
import type { ProviderCalls } from "../../provider-calls/provider-calls.ts";
import { hasEnded, mayRestart, type PodState } from "../state/pod-state.ts";
import type { PodRegistry } from "../state/pod-registry.ts";

/** Maximum number of pods in one round, so that a round stays short on a node with many pods. */
const perRound = 200;

/** Number of concurrent questions. */
const concurrency = 8;

/** Deadline of one question. */
const answerMs = 10_000;

export interface PodStatusPollerOptions {
  readonly store: Store<Pod>;
  readonly registry: PodRegistry;
  readonly calls: Pick<ProviderCalls, "getPodStatus">;
  readonly clock: Clock;
}

/** Asks the provider about single pods while it does not list them. */
export class PodStatusPoller {
  readonly #options: PodStatusPollerOptions;
  #offset = 0;

  constructor(options: PodStatusPollerOptions) {
    this.#options = options;
  }

  /**
   * Asks about the pods that run as far as is known; on a node with many pods about some of them, and about others the next
   * time. A pod whose question is not answered stays as it is.
   *
   * @throws `signal.reason` when aborted
   */
  async round(signal: AbortSignal): Promise<void> {
    const waiting = this.#due().values();
    const work = async (): Promise<void> => {
      for (const { ref } of waiting) await this.#ask(ref, signal);
    };
    await Promise.all(Array.from({ length: concurrency }, work));
  }

  #due(): readonly PodState[] {
    const { registry, store } = this.#options;
    const due = [...registry.values()].filter((state) => mayChange(store.get(state.ref.uid), state));
    const from = due.length > perRound ? this.#offset % due.length : 0;
    this.#offset = from + perRound;
    return [...due.slice(from), ...due.slice(0, from)].slice(0, perRound);
  }

  async #ask(ref: PodRef, signal: AbortSignal): Promise<void> {
    const { calls, clock, registry } = this.#options;
    const startedMs = clock.monotonic();
    try {
      registry.onAnswer(ref, await calls.getPodStatus(ref, signal, answerMs), startedMs);
    } catch (error) {
      signal.throwIfAborted();
      if (isPodNotFound(error)) registry.onNoStatus(ref, startedMs);
    }
  }
}

/** Whether the provider holds the pod, and it has not ended for good. What is to end is asked about in its own time. */
function mayChange(pod: DeepReadonly<Pod> | undefined, { api, backend, call, reported }: PodState): boolean {
  if (api !== "bound" || call || backend.kind !== "present") return false;
  return !reported || !hasEnded(reported, pod) || mayRestart(pod, reported);
}
