import { SingleFlight } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/core";
import { isNotFound, isRetryable, QuotaExceededError } from "@virtual-kubelet/errdefs";
import { backoffMs, type Backoff } from "@virtual-kubelet/kube-client";
import type { LogSnapshot, SnapshotQuery } from "../backend/remote-backend.ts";
import type { OutputState, SnapshotSource } from "./snapshot-source.ts";

/** Options of {@link SnapshotPollers}. */
export interface SnapshotPollersOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Milliseconds between two reads of a container that writes. Default: 1,000. */
  readonly intervalMs?: number | undefined;
  /** Longest interval for a container that writes nothing, in milliseconds. Default: 5,000. */
  readonly quietIntervalMs?: number | undefined;
  /** Number of lines that a poll asks for; all lines are read only if more were written since the poll before. Default: 1,000. */
  readonly tailLines?: number | undefined;
  /** As `BackendLimits.logDelayMs`. Default: 0. */
  readonly logDelayMs?: number | undefined;
  /** Maximum number of clients that follow one container. Default: 20. */
  readonly maxFollowers?: number | undefined;
  /** Maximum number of containers that are followed at once, each of which costs up to one request an interval. Default: 50. */
  readonly maxContainers?: number | undefined;
}

/** A snapshot that was read for all followers of a container. */
export interface PolledSnapshot extends LogSnapshot {
  /** Number of the read, in the order in which all reads of {@link SnapshotPollers} began. */
  readonly order: number;
  /** The container's state before the read. */
  readonly state: OutputState;
  /** Monotonic milliseconds at which the read began. */
  readonly atMs: number;
  /** Whether the back end said that there is no such output. */
  readonly isMissing: boolean;
  /** Whether it may hold the last lines only. */
  readonly isLimited: boolean;
}

/** Poller of a container, as one of its followers has it. Disposing of it leaves it. */
export interface JoinedPoller extends Disposable {
  /**
   * Returns the latest snapshot, as soon as one was read after the given order.
   *
   * @throws `signal.reason` when aborted; what the read throws if that cannot pass by itself, or if a container that has ended cannot be read
   */
  next(after: number, signal: AbortSignal): Promise<PolledSnapshot>;
  /** Reads all that the back end has. */
  whole(signal: AbortSignal): Promise<PolledSnapshot>;
}

/** Back-off after a failed read. */
const errorBackoff: Backoff = { initialMs: 1_000, maxMs: 30_000 };

/** Failed reads of a container that has ended, after which its followers get the error. */
const maxLastFailures = 5;

/** Pollers of followed containers: all followers of a container share one, which reads only while one of them waits for output. */
export class SnapshotPollers {
  readonly #options: SnapshotPollersOptions;
  readonly #pollers = new Map<string, SharedPoller>();
  readonly #reads = { count: 0 };

  constructor(options: SnapshotPollersOptions) {
    this.#options = options;
  }

  /** Number of containers that are followed. */
  get containers(): number {
    return this.#pollers.size;
  }

  /** Number of lines that a poll asks for. */
  get tailLines(): number {
    return this.#options.tailLines ?? 1_000;
  }

  /** Milliseconds after which a written line can be read. */
  get logDelayMs(): number {
    return this.#options.logDelayMs ?? 0;
  }

  /** Whether the container writes, or has ended so recently that its last lines may not be readable yet. */
  mayGrow({ isRunning, finishedAt }: OutputState): boolean {
    if (isRunning) return true;
    const agoMs = finishedAt === undefined ? Number.POSITIVE_INFINITY : this.#options.clock.now() - Date.parse(finishedAt);
    return agoMs < this.logDelayMs;
  }

  /** Number of a read that begins now; see {@link PolledSnapshot.order}. */
  nextOrder(): number {
    return ++this.#reads.count;
  }

  /**
   * Joins the poller of a container.
   *
   * @param key - of the container, such as the pod's UID and its name
   * @returns the poller; disposing of it leaves it
   * @throws QuotaExceededError if too many follow the container, or too many containers are followed
   */
  join(key: string, source: SnapshotSource): JoinedPoller {
    const { maxFollowers = 20, maxContainers = 50 } = this.#options;
    const known = this.#pollers.get(key);
    if (known && known.followers >= maxFollowers)
      throw new QuotaExceededError(
        `follow a container's output: ${known.followers} clients do already; end one of them, or read without -f`,
      );
    if (!known && this.#pollers.size >= maxContainers)
      throw new QuotaExceededError(
        `follow a container's output: that of ${this.#pollers.size} containers is followed already; read without -f`,
      );
    const poller = known ?? new SharedPoller(source, this.#options, this);
    this.#pollers.set(key, poller);
    poller.followers++;
    let isJoined = true;
    return {
      next: (after, signal) => poller.next(after, signal),
      whole: (signal) => poller.whole(signal),
      [Symbol.dispose]: () => {
        if (!isJoined) return;
        isJoined = false;
        if (--poller.followers === 0 && this.#pollers.get(key) === poller) this.#pollers.delete(key);
      },
    };
  }
}

/** Reads one container's output for all its followers. */
class SharedPoller {
  followers = 0;
  readonly #source: SnapshotSource;
  readonly #options: SnapshotPollersOptions;
  readonly #pollers: Pick<SnapshotPollers, "nextOrder" | "tailLines">;
  readonly #flights = new SingleFlight<PolledSnapshot>();
  #latest: PolledSnapshot | undefined;
  #readMs: number;
  /** Reads in a row without a change. */
  #quiet = 0;

  constructor(source: SnapshotSource, options: SnapshotPollersOptions, pollers: Pick<SnapshotPollers, "nextOrder" | "tailLines">) {
    this.#source = source;
    this.#options = options;
    this.#pollers = pollers;
    this.#readMs = options.clock.monotonic();
  }

  /** As {@link JoinedPoller.next}. */
  async next(after: number, signal: AbortSignal): Promise<PolledSnapshot> {
    signal.throwIfAborted();
    for (;;) {
      if (this.#latest && this.#latest.order > after) return this.#latest;
      await this.#flights.run("poll", (inner) => this.#poll(inner), signal);
    }
  }

  /** As {@link JoinedPoller.whole}. */
  whole(signal: AbortSignal): Promise<PolledSnapshot> {
    return this.#flights.run("whole", (inner) => this.#read({}, inner), signal);
  }

  async #poll(signal: AbortSignal): Promise<PolledSnapshot> {
    const { clock } = this.#options;
    await clock.sleep(Math.max(0, this.#readMs + this.#intervalMs() - clock.monotonic()), signal);
    const polled = await this.#read({ tailLines: this.#pollers.tailLines }, signal);
    this.#readMs = clock.monotonic();
    this.#quiet = this.#latest?.text === polled.text ? this.#quiet + 1 : 0;
    this.#latest = polled;
    return polled;
  }

  #intervalMs(): number {
    const { intervalMs = 1_000, quietIntervalMs = 5_000, random } = this.#options;
    const longest = Math.max(intervalMs, quietIntervalMs);
    return Math.min(longest, intervalMs * 1.5 ** this.#quiet) * (0.9 + 0.2 * random.next());
  }

  async #read(query: SnapshotQuery, signal: AbortSignal): Promise<PolledSnapshot> {
    for (let failures = 1; ; failures++) {
      const order = this.#pollers.nextOrder();
      // Taken first, so that what was written until the end is in the last snapshot.
      const state = this.#source.state();
      const atMs = this.#options.clock.monotonic();
      try {
        const snapshot = await this.#source.read(query, signal);
        return { ...snapshot, order, state, atMs, isMissing: false, isLimited: isLimited(snapshot.text, query) };
      } catch (error) {
        signal.throwIfAborted();
        if (isNotFound(error)) {
          const hasTimestamps = this.#latest?.hasTimestamps ?? false;
          return { text: "", hasTimestamps, order, state, atMs, isMissing: true, isLimited: false };
        }
        if (!isRetryable(error) || (!state.isRunning && failures >= maxLastFailures)) throw error;
        await this.#options.clock.sleep(backoffMs(errorBackoff, failures, this.#options.random), signal);
      }
    }
  }
}

function isLimited(text: string, { tailLines }: SnapshotQuery): boolean {
  if (tailLines === undefined) return false;
  let lines = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at >= 0 && lines < tailLines; at = text.indexOf("\n", at + 1)) lines++;
  return lines >= tailLines;
}
