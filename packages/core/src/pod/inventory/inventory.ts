import type { Clock, Random } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import { backoffMs, type Backoff, type Logger } from "@virtual-kubelet/kube-client";
import type { ProviderPodList } from "../../provider/pod-lifecycle.ts";
import { providerMessage } from "../../provider-calls/provider-message.ts";

/** Back-off of the first inventory, short because no pod is started or ended before it. */
const loadRetry: Backoff = { initialMs: 1_000, maxMs: 10_000 };

/** Time that an inventory may take before the provider is asked about single pods. */
const patienceMs = 10_000;

export interface InventoryOptions {
  readonly getPods: (signal: AbortSignal) => Promise<ProviderPodList>;
  /** Processes an inventory. @param startedMs - monotonic time of the request */
  readonly onList: (list: ProviderPodList, startedMs: number, signal: AbortSignal) => void | Promise<void>;
  /**
   * Asks the provider about single pods; called repeatedly while `getPods` does not answer. Default: no questions,
   * because the provider reports changes by itself.
   */
  readonly askSingly?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Milliseconds from one inventory to the next. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The last inventory, for people who look at a running node. */
export interface InventoryState {
  /** Number of pods that the provider listed; `undefined` before the first inventory. */
  readonly pods?: number | undefined;
  /** Whether the list was complete; `undefined` before the first inventory. */
  readonly isComplete?: boolean | undefined;
  /** Milliseconds since the last inventory; `undefined` before the first. */
  readonly ageMs?: number | undefined;
  /** Error of the last attempt, without secrets; `undefined` if it succeeded. */
  readonly failure: string | undefined;
}

/** Lists the provider's pods: at the start until that succeeds, and then at intervals. */
export class Inventory {
  readonly #options: InventoryOptions;
  #last: { readonly pods: number; readonly isComplete: boolean; readonly atMs: number } | undefined;
  #failure: unknown;

  constructor(options: InventoryOptions) {
    this.#options = options;
  }

  /** The last inventory, and why there is no newer one. */
  get state(): InventoryState {
    const last = this.#last;
    return {
      ...(last && { pods: last.pods, isComplete: last.isComplete, ageMs: this.#options.clock.monotonic() - last.atMs }),
      failure: this.#failure === undefined ? undefined : providerMessage(this.#failure),
    };
  }

  /** Retries until there is a first inventory. A partial one suffices: missing pods are unknown, not gone. */
  async load(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(signal);
      } catch (error) {
        signal.throwIfAborted();
        const delayMs = backoffMs(loadRetry, attempt, random);
        const fields = { err: messageOf(error), attempt, delayMs: Math.round(delayMs) };
        logger.warn(fields, "provider returned no list of its pods; no pod is started or ended until it does");
        await clock.sleep(delayMs, signal);
      }
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, intervalMs } = this.#options;
    while (!signal.aborted) {
      try {
        await clock.sleep(intervalMs * (1 + random.next() / 20), signal);
        await this.#onceOrSingly(signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: messageOf(error) }, "provider returned no list of its pods; the last known list stays in use");
      }
    }
  }

  /** Takes an inventory. Until the provider answers, it is asked about single pods every interval. */
  async #onceOrSingly(signal: AbortSignal): Promise<void> {
    const { askSingly, clock, intervalMs } = this.#options;
    const end = new AbortController();
    const isOver = AbortSignal.any([signal, end.signal]);
    const listing = this.#once(signal).finally(() => end.abort());
    // Awaited below, after the questions.
    listing.catch(() => {});
    for (let waitMs = patienceMs; askSingly && !isOver.aborted; waitMs = intervalMs) {
      await clock.sleep(waitMs, isOver).catch(() => {});
      if (!isOver.aborted) await askSingly(isOver).catch(() => {});
    }
    await listing;
  }

  async #once(signal: AbortSignal): Promise<void> {
    const { clock, getPods, onList } = this.#options;
    const startedMs = clock.monotonic();
    try {
      const list = await getPods(signal);
      await onList(list, startedMs, signal);
      this.#last = { pods: list.pods.length, isComplete: list.complete, atMs: clock.monotonic() };
      this.#failure = undefined;
    } catch (error) {
      if (!signal.aborted) this.#failure = error;
      throw error;
    }
  }
}
