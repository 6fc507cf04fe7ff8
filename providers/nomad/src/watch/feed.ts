import type { Clock, Logger } from "@virtual-kubelet/core";
import { isInvalidInput, isNotFound, isUnauthorized, messageOf } from "@virtual-kubelet/errdefs";
import { nextBlockingIndex } from "../api/blocking-index.ts";
import type { NomadClient } from "../api/nomad-client.ts";
import type { NomadEvent } from "../api/types.ts";

export interface FeedOptions {
  /** One for each namespace of Nomad. */
  readonly clients: readonly NomadClient[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Lists everything and takes it in. @returns the index from which on something may have changed since */
  readonly relist: (signal: AbortSignal) => Promise<number>;
  readonly onEvent: (event: NomadEvent) => void;
  readonly relistMs: number;
  /** Follow the event stream; else blocking queries tell of changes. */
  readonly stream: boolean;
}

const topics = ["Allocation", "Job", "Evaluation"] as const;

/** Nomad sends a heartbeat at once, and every 30 s. A stream that fails on the server may stay open, and be silent for ever. */
const firstFrameMs = 10_000;
const silenceMs = 45_000;
const firstPauseMs = 1000;
const maxPauseMs = 30_000;
/** Minimum time between lists that are triggered by blocking queries: a busy cluster changes all the time. */
const blockingPauseMs = 1000;
/** After this long an event stream that was refused is tried again. */
const streamAgainMs = 600_000;

/**
 * Reports changes in Nomad and reconnects as needed. Each connection continues from the index of a list. Lists are also read at intervals,
 * because Nomad keeps few events and does not say which it has dropped.
 */
export class Feed {
  readonly #options: FeedOptions;
  #connected = false;
  #refusedUntilMs = 0;
  #pauseMs = firstPauseMs;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** Whether all changes are known, except those in transit. */
  get connected(): boolean {
    return this.#connected;
  }

  /** Runs until aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, stream } = this.#options;
    while (!signal.aborted) {
      const canStream = stream && clock.monotonic() >= this.#refusedUntilMs;
      try {
        await (canStream ? this.#followStream(signal) : this.#followIndex(signal));
        if (!signal.aborted) logger.debug({}, "Nomad's event stream was interrupted");
      } catch (error) {
        if (signal.aborted) break;
        const isRefused = isNotFound(error) || isUnauthorized(error) || isInvalidInput(error);
        if (canStream && isRefused) this.#refusedUntilMs = clock.monotonic() + streamAgainMs;
        logger.warn({ err: messageOf(error), pauseMs: this.#pauseMs }, "changes at Nomad cannot be followed; trying again");
      }
      this.#connected = false;
      await clock.sleep(this.#pauseMs, signal).catch(() => {});
      this.#pauseMs = Math.min(maxPauseMs, this.#pauseMs * 2);
    }
    this.#connected = false;
  }

  async #listed(signal: AbortSignal): Promise<number> {
    const index = await this.#options.relist(signal);
    this.#connected = true;
    return index;
  }

  async #followStream(signal: AbortSignal): Promise<void> {
    const { clients, relistMs } = this.#options;
    // Without an index Nomad would repeat all stored events, and may fail when it drops some of them meanwhile.
    const index = await this.#listed(signal);
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    const silent = new Set(clients);
    const onFrame = (client: NomadClient): void => {
      silent.delete(client);
      // A successful list does not reset the back-off of streams: a proxy may answer 502 to streams alone.
      if (silent.size === 0) this.#pauseMs = firstPauseMs;
    };
    const following = [this.#listEvery(relistMs, until), ...clients.map((client) => this.#readStream(client, index, onFrame, until))];
    try {
      await Promise.race(following);
    } finally {
      over.abort(new Error("another event stream of Nomad broke off"));
      await Promise.allSettled(following);
    }
  }

  /** Reads the events of one namespace until its stream ends, or the signal aborts. @throws if it breaks or is silent */
  async #readStream(client: NomadClient, index: number, onFrame: (client: NomadClient) => void, signal: AbortSignal): Promise<void> {
    const { clock, onEvent } = this.#options;
    const events = await client.events(topics, index, signal);
    const broken = Promise.withResolvers<never>();
    // It may break while nothing awaits it.
    broken.promise.catch(() => {});
    let timer: Disposable | undefined;
    const expect = (ms: number): void => {
      timer?.[Symbol.dispose]();
      timer = clock.setTimer(ms, () => broken.reject(new Error(`Nomad's event stream was silent for ${ms / 1000} s`)));
    };
    expect(firstFrameMs);
    const onAbort = (): void => broken.reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const reading = (async (): Promise<void> => {
      for await (const frame of events) {
        onFrame(client);
        expect(silenceMs);
        for (const event of frame) onEvent(event);
      }
    })();
    try {
      await Promise.race([reading, broken.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      events.destroy();
      await Promise.allSettled([reading]);
      timer?.[Symbol.dispose]();
    }
  }

  /** Lists at intervals until aborted. @throws what a list throws */
  async #listEvery(ms: number, signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await this.#options.clock.sleep(ms, signal);
        await this.#listed(signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #followIndex(signal: AbortSignal): Promise<void> {
    const { clock, relistMs, stream } = this.#options;
    let index: number | undefined;
    do {
      const now: number = await this.#waitForAny(index ?? 0, index === undefined ? 0 : relistMs, signal);
      index = nextBlockingIndex(index, now);
      await this.#listed(signal);
      this.#pauseMs = firstPauseMs;
      await clock.sleep(blockingPauseMs, signal);
    } while (!stream || clock.monotonic() < this.#refusedUntilMs);
  }

  /** Waits for a change in any of the namespaces, whose indexes are the same. @returns the current index */
  async #waitForAny(index: number, waitMs: number, signal: AbortSignal): Promise<number> {
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    const waiting = this.#options.clients.map((client) => client.waitForAllocations(index, waitMs, until));
    try {
      return await Promise.race(waiting);
    } finally {
      over.abort(new Error("another namespace of Nomad has changed"));
      await Promise.allSettled(waiting);
    }
  }
}
