import type { Clock, Logger } from "@virtual-kubelet/core";
import { isInvalidInput, isNotFound, isUnauthorized, messageOf } from "@virtual-kubelet/errdefs";
import { nextBlockingIndex } from "../api/blocking-index.ts";
import type { NomadClient } from "../api/nomad-client.ts";
import type { NomadEvent } from "../api/types.ts";

/** What a {@link Feed} needs. */
export interface FeedDeps {
  readonly client: NomadClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Lists everything and takes it in. */
  readonly relist: (signal: AbortSignal) => Promise<void>;
  readonly onEvent: (event: NomadEvent) => void;
  readonly relistMs: number;
  /** Follow the event stream; else blocking queries tell of changes. */
  readonly stream: boolean;
}

const topics = ["Allocation", "Job", "Evaluation"] as const;

/** Nomad sends a heartbeat every 30 s. */
const silenceMs = 75_000;
const firstPauseMs = 1000;
const maxPauseMs = 30_000;
/** The least time between two lists that blocking queries ask for: in a busy cluster something changes all the time. */
const blockingPauseMs = 1000;
/** After this long an event stream that was refused is tried again. */
const streamAgainMs = 600_000;

/**
 * Tells of changes at Nomad, over any number of broken connections. A list follows each connect and comes every so often,
 * for Nomad keeps few events and does not say which it has dropped.
 */
export class Feed {
  readonly #deps: FeedDeps;
  #connected = false;
  #refusedUntilMs = 0;
  #pauseMs = firstPauseMs;

  constructor(deps: FeedDeps) {
    this.#deps = deps;
  }

  /** Whether what is known is what is so, but for what is on its way. */
  get connected(): boolean {
    return this.#connected;
  }

  /** Runs until aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, stream } = this.#deps;
    while (!signal.aborted) {
      const canStream = stream && clock.monotonic() >= this.#refusedUntilMs;
      try {
        await (canStream ? this.#followStream(signal) : this.#followIndex(signal));
        if (!signal.aborted) logger.debug({}, "Nomad's event stream broke off");
      } catch (error) {
        if (signal.aborted) break;
        const isRefused = isNotFound(error) || isUnauthorized(error) || isInvalidInput(error);
        if (canStream && isRefused) this.#refusedUntilMs = clock.monotonic() + streamAgainMs;
        logger.warn({ err: messageOf(error), pauseMs: this.#pauseMs }, "changes at Nomad cannot be followed; it is tried again");
      }
      this.#connected = false;
      await clock.sleep(this.#pauseMs, signal).catch(() => {});
      this.#pauseMs = Math.min(maxPauseMs, this.#pauseMs * 2);
    }
    this.#connected = false;
  }

  async #listed(signal: AbortSignal): Promise<void> {
    await this.#deps.relist(signal);
    this.#connected = true;
    this.#pauseMs = firstPauseMs;
  }

  async #followStream(signal: AbortSignal): Promise<void> {
    const { client, clock, onEvent, relistMs } = this.#deps;
    const events = await client.events(topics, signal);
    const broken = Promise.withResolvers<never>();
    // Nobody may be waiting when it breaks.
    broken.promise.catch(() => {});
    let timer: Disposable | undefined;
    const heard = (): void => {
      timer?.[Symbol.dispose]();
      timer = clock.setTimer(silenceMs, () => broken.reject(new Error(`Nomad's event stream was silent for ${silenceMs / 1000} s`)));
    };
    const over = new AbortController();
    const listing = this.#listEvery(relistMs, AbortSignal.any([signal, over.signal])).catch(broken.reject);
    heard();
    const reading = (async (): Promise<void> => {
      for await (const { Events } of events) {
        heard();
        for (const event of Events ?? []) onEvent(event);
      }
    })();
    try {
      await Promise.race([reading, broken.promise]);
    } finally {
      timer?.[Symbol.dispose]();
      over.abort();
      events.destroy();
      await Promise.allSettled([reading, listing]);
    }
  }

  /** Lists at once, and then every so often. @throws what a list throws, until aborted */
  async #listEvery(ms: number, signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await this.#listed(signal);
        await this.#deps.clock.sleep(ms, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #followIndex(signal: AbortSignal): Promise<void> {
    const { client, clock, relistMs, stream } = this.#deps;
    let index: number | undefined;
    do {
      const now: number = await client.waitForAllocations(index ?? 0, index === undefined ? 0 : relistMs, signal);
      index = nextBlockingIndex(index, now);
      await this.#listed(signal);
      await clock.sleep(blockingPauseMs, signal);
    } while (!stream || clock.monotonic() < this.#refusedUntilMs);
  }
}
