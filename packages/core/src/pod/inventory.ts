import { messageOf } from "@virtual-kubelet/errdefs";
import type { Clock, Logger, Random } from "@virtual-kubelet/kube-client";
import type { ProviderPodList } from "../provider/provider.ts";

/** What {@link Inventory} needs. */
export interface InventoryDeps {
  readonly getPods: (signal: AbortSignal) => Promise<ProviderPodList>;
  /** Takes an inventory in. @param startedMs - monotonic time at which it was asked for */
  readonly onList: (list: ProviderPodList, startedMs: number) => void;
  /** Milliseconds from one inventory to the next. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Asks the provider for all its pods: once at the start, until it answers, and then at intervals. */
export class Inventory {
  readonly #deps: InventoryDeps;

  constructor(deps: InventoryDeps) {
    this.#deps = deps;
  }

  /** Takes the first inventory; tries until there is one. A partial one will do: what it lacks is unknown, not gone. */
  async load(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#deps;
    for (let delayMs = 1_000; ; delayMs = Math.min(delayMs * 2, 30_000)) {
      try {
        return await this.#once(signal);
      } catch (error) {
        signal.throwIfAborted();
        logger.warn({ err: messageOf(error), delayMs }, "provider gave no inventory; no pod is started or ended before it does");
        await clock.sleep(delayMs * (1 + random.next() / 2), signal);
      }
    }
  }

  /** Takes an inventory every interval, until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, intervalMs } = this.#deps;
    while (!signal.aborted) {
      try {
        await clock.sleep(intervalMs * (1 + random.next() / 20), signal);
        await this.#once(signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: messageOf(error) }, "provider gave no inventory; what it was last known to hold stays");
      }
    }
  }

  async #once(signal: AbortSignal): Promise<void> {
    const startedMs = this.#deps.clock.monotonic();
    this.#deps.onList(await this.#deps.getPods(signal), startedMs);
  }
}
