import type { Clock, Logger, Random } from "@virtual-kubelet/core";
import { backoffMs, type Backoff } from "@virtual-kubelet/kube-client";
import type { RuntimePresence } from "./runtime-presence.ts";
import type { ContainerRuntime, RuntimeEvent } from "../runtime/container-runtime.ts";

const retry: Backoff = { initialMs: 1_000, maxMs: 10_000 };

export interface RuntimeWatchOptions {
  readonly runtime: Pick<ContainerRuntime, "events">;
  /** Interval of complete lists, whatever the runtime reports. */
  readonly relistMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly presence: RuntimePresence;
  /** Called for each event of an object. Returns at once. */
  onEvent(event: Extract<RuntimeEvent, { readonly id: string }>): void;
  /** Lists everything. Retried after an error. */
  relist(signal: AbortSignal): Promise<void>;
}

/** Follows a runtime's events, and lists everything when events may have been missed. */
export class RuntimeWatch {
  readonly #options: RuntimeWatchOptions;
  #relisting: Promise<void> | undefined;
  #isDirty = false;

  constructor(options: RuntimeWatchOptions) {
    this.#options = options;
  }

  /** Runs until aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#follow(signal), this.#repeat(signal)]);
    await this.#relisting;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { runtime, clock, random, logger, presence, onEvent } = this.#options;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        for await (const event of runtime.events(signal)) {
          failures = 0;
          if ("id" in event) onEvent(event);
          else if (event.kind === "away") presence.leave();
          else {
            presence.comeBack();
            this.#markDirty(signal);
          }
        }
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error }, "the runtime's events have ended; subscribing again");
      }
      presence.leave();
      await clock.sleep(backoffMs(retry, Math.max(1, failures), random), signal).catch(() => {});
    }
  }

  async #repeat(signal: AbortSignal): Promise<void> {
    const { clock, random, relistMs } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(relistMs * (1 + random.next() / 10), signal).catch(() => {});
      if (!signal.aborted) this.#markDirty(signal);
    }
  }

  /** Requests a list, or one more after the list in progress. */
  #markDirty(signal: AbortSignal): void {
    this.#isDirty = true;
    this.#relisting ??= this.#relist(signal).finally(() => (this.#relisting = undefined));
  }

  /** Never rejects. */
  async #relist(signal: AbortSignal): Promise<void> {
    const { relist, clock, random, logger } = this.#options;
    for (let failures = 0; this.#isDirty && !signal.aborted;) {
      this.#isDirty = false;
      try {
        await relist(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        this.#isDirty = true;
        if (++failures === 1) logger.warn({ err: error }, "the runtime could not be listed; the last known state stays, will retry");
        await clock.sleep(backoffMs(retry, failures, random), signal).catch(() => {});
      }
    }
  }
}
