import type { Clock, Random } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import { backoffMs, type Backoff, type Logger } from "@virtual-kubelet/kube-client";
import type { ProviderPodList } from "../../provider/pod-lifecycle.ts";

/** Nothing goes on before the first inventory, so a back end that is back is not left waiting. */
const loadRetry: Backoff = { initialMs: 1_000, maxMs: 10_000 };

/** How long an inventory may take before the provider is asked about single pods. */
const patienceMs = 10_000;

/** What {@link Inventory} needs. */
export interface InventoryOptions {
  readonly getPods: (signal: AbortSignal) => Promise<ProviderPodList>;
  /** Takes an inventory in. @param startedMs - monotonic time at which it was asked for */
  readonly onList: (list: ProviderPodList, startedMs: number) => void;
  /**
   * Asks the provider about single pods; called again and again while `getPods` does not answer. Default: nothing is asked,
   * because the provider tells by itself how its pods go.
   */
  readonly askSingly?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Milliseconds from one inventory to the next. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Asks the provider for all its pods: once at the start, until it answers, and then at intervals. */
export class Inventory {
  readonly #options: InventoryOptions;

  constructor(options: InventoryOptions) {
    this.#options = options;
  }

  /** Takes the first inventory; tries until there is one. A partial one will do: what it lacks is unknown, not gone. */
  async load(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(signal);
      } catch (error) {
        signal.throwIfAborted();
        const delayMs = backoffMs(loadRetry, attempt, random);
        const fields = { err: messageOf(error), attempt, delayMs: Math.round(delayMs) };
        logger.warn(fields, "provider gave no inventory; no pod is started or ended before it does");
        await clock.sleep(delayMs, signal);
      }
    }
  }

  /** Takes an inventory every interval, until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, intervalMs } = this.#options;
    while (!signal.aborted) {
      try {
        await clock.sleep(intervalMs * (1 + random.next() / 20), signal);
        await this.#onceOrSingly(signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: messageOf(error) }, "provider gave no inventory; what it was last known to hold stays");
      }
    }
  }

  /** Takes an inventory. While the provider does not answer, it is asked about single pods every interval. */
  async #onceOrSingly(signal: AbortSignal): Promise<void> {
    const { askSingly, clock, intervalMs } = this.#options;
    const end = new AbortController();
    const isOver = AbortSignal.any([signal, end.signal]);
    const listing = this.#once(signal).finally(() => end.abort());
    // Awaited below, after what is asked meanwhile.
    listing.catch(() => {});
    for (let waitMs = patienceMs; askSingly && !isOver.aborted; waitMs = intervalMs) {
      await clock.sleep(waitMs, isOver).catch(() => {});
      if (!isOver.aborted) await askSingly(isOver).catch(() => {});
    }
    await listing;
  }

  async #once(signal: AbortSignal): Promise<void> {
    const startedMs = this.#options.clock.monotonic();
    this.#options.onList(await this.#options.getPods(signal), startedMs);
  }
}
