import type { Clock } from "@virtual-kubelet/clock";
import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { KubeClient, WorkResult } from "@virtual-kubelet/kube-client";
import { isPodGone, podPresence, type PodPresence } from "../../api-server/pod-presence.ts";
import type { PodRef } from "../../provider/pod-ref.ts";
import { isPodNotFound } from "../../provider-calls/not-found.ts";
import type { ProviderCalls } from "../../provider-calls/provider-calls.ts";
import type { PodRegistry } from "../state/pod-registry.ts";
import { mayBeHeld, type PodState } from "../state/pod-state.ts";
import { permitHoldMs, type CallPermits } from "./tracked-calls.ts";

/** Delay before the API server is asked again about a pod that a relist did not contain, or that it no longer wants. */
export const confirmAgainMs = 30_000;

/** Interval at which a missing pod is looked at while the API server's pods are listed anew. */
const listingAgainMs = 1_000;

export interface PodQuestionsOptions {
  readonly client: Pick<KubeClient, "get">;
  readonly registry: PodRegistry;
  readonly calls: ProviderCalls;
  readonly permits: CallPermits;
  /** Whether the number of pods missing from a relist is suspicious, so that none of them is ended. */
  readonly isMassLoss: (missing: number) => boolean;
  /** Whether the store of pods follows the API server now. */
  readonly isCurrent: () => boolean;
  readonly clock: Clock;
}

/** Asks the provider and the API server about a pod, and passes the answers to the registry. */
export class PodQuestions {
  readonly #options: PodQuestionsOptions;
  /** Abort controllers of the questions in progress, by UID. */
  readonly #inProgress = new Map<string, AbortController>();

  constructor(options: PodQuestionsOptions) {
    this.#options = options;
  }

  /** Aborts the question in progress about a pod that has to end sooner than before, because its grace is running. */
  hasten(uid: string): void {
    this.#inProgress.get(uid)?.abort(new Error("the pod is to end"));
  }

  /** Asks the provider for the pod's status. */
  async inspect({ ref, backend }: PodState, signal: AbortSignal): Promise<void> {
    const { calls, clock, registry } = this.#options;
    const startedMs = clock.monotonic();
    try {
      // A pod's ownership was checked before it was told to end, so the status suffices.
      const status = await this.#ask("ask", ref.uid, signal, async (inner) =>
        backend.kind === "ending" ? calls.getPodStatus(ref, inner) : (await calls.getPod(ref, inner)).status,
      );
      registry.onAnswer(ref, status, startedMs);
    } catch (error) {
      if (!isPodNotFound(error)) throw error;
      registry.onNotFound(ref, startedMs);
    }
  }

  /**
   * Asks the provider for a pod whose deletion it answered with "not found", which counts only if this question gets the same answer.
   *
   * @throws UnavailableError if the provider holds the pod
   */
  async confirmNotFound(ref: PodRef, notFound: unknown, signal: AbortSignal): Promise<void> {
    const { calls, clock, registry } = this.#options;
    const startedMs = clock.monotonic();
    try {
      await this.#ask("ask", ref.uid, signal, (inner) => calls.getPod(ref, inner));
    } catch (error) {
      if (!isPodNotFound(error)) throw error;
      return registry.onNotFound(ref, startedMs);
    }
    throw new UnavailableError(`delete pod ${ref.namespace}/${ref.name}: the provider holds it, and said: ${messageOf(notFound)}`, {
      cause: notFound,
    });
  }

  /**
   * Asks the API server about a pod that a relist did not contain. While the pods are listed anew, only the new list shows how many are
   * missing, so that an answer counts only after it.
   */
  async confirmGone({ ref }: PodState, signal: AbortSignal): Promise<WorkResult | void> {
    const { client, registry } = this.#options;
    const delayMs = this.#endDelayMs(ref.uid);
    if (delayMs !== undefined) return { requeueAfterMs: delayMs };
    if (!(await isPodGone(client, ref, signal))) return { requeueAfterMs: confirmAgainMs };
    // A new list may have come since the question.
    const lateDelayMs = this.#endDelayMs(ref.uid);
    if (lateDelayMs !== undefined) return { requeueAfterMs: lateDelayMs };
    if (registry.get(ref.uid)?.api === "missing") registry.onVanished(ref.uid);
  }

  /** @returns the delay before a missing pod is looked at again because it must not be ended now; `undefined` if it may end */
  #endDelayMs(uid: string): number | undefined {
    const { isCurrent, isMassLoss, registry } = this.#options;
    const state = registry.get(uid);
    // Without a pod at the back end nothing can be ended by mistake.
    if (!state || !mayBeHeld(state)) return undefined;
    if (!isCurrent()) return listingAgainMs;
    return isMassLoss(registry.missing) ? confirmAgainMs : undefined;
  }

  /** Asks the API server whether it still wants the pod. */
  presence(ref: PodRef, signal: AbortSignal): Promise<PodPresence> {
    return this.#ask("confirm", ref.uid, signal, (inner) => podPresence(this.#options.client, ref, inner));
  }

  /**
   * Asks the provider (`ask`) or the API server (`confirm`) with a permit, because an incomplete list, or the loss of many pods, causes many
   * questions at once; {@link hasten} aborts it.
   */
  async #ask<T>(kind: "ask" | "confirm", uid: string, signal: AbortSignal, question: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, permits } = this.#options;
    const end = new AbortController();
    const inner = AbortSignal.any([signal, end.signal]);
    this.#inProgress.set(uid, end);
    try {
      using permit = await permits[kind].acquire(inner);
      using _hold = clock.setTimer(permitHoldMs, () => permit[Symbol.dispose]());
      return await question(inner);
    } finally {
      this.#inProgress.delete(uid);
    }
  }
}
