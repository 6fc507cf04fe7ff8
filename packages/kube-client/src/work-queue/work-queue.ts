import { AsyncLocalStorage } from "node:async_hooks";
import { byDueTime, DelayHeap, type Clock, type Delayed, type Random } from "@virtual-kubelet/clock";
import { backoffMs, retryAfterMsOf, type Backoff } from "./backoff.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import type { Logger } from "../telemetry/logger.ts";
import { noMetrics, type MetricLabels, type Metrics } from "../telemetry/metrics.ts";

/** Options of a {@link WorkQueue}. */
export interface WorkQueueOptions {
  /** Label `name` of its metrics. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Counts under client-go's names: `workqueue_depth`, `_adds_total`, `_retries_total`, `_queue_duration_seconds`,
   * `_work_duration_seconds`, `_unfinished_work_seconds`, `_longest_running_processor_seconds`.
   */
  readonly metrics?: Metrics | undefined;
  /** Back-off before a failed key is retried. Default: 1 s, doubled up to 300 s. */
  readonly backoff?: Backoff | undefined;
  /** Maximum Retry-After that is respected, in milliseconds. Default: 300,000. */
  readonly maxRetryAfterMs?: number | undefined;
  /**
   * Whether {@link WorkQueue.add} respects the Retry-After of a failure. Default: `true`. `false` if a key's next work may
   * be another operation, to which the Retry-After does not apply: the handler then has to respect it itself.
   */
  readonly throttlesAdds?: boolean | undefined;
}

/** Result of a handler. */
export interface WorkResult {
  /** Delay before the key is processed again, if it is not added earlier. */
  readonly requeueAfterMs?: number;
}

/** A failed run, as passed to {@link WorkQueueRun.onError}. */
export interface WorkFailure {
  readonly key: string;
  readonly error: unknown;
  /** Number of consecutive failures, including this one. */
  readonly failures: number;
  /** Delay before the retry, unless the key is added earlier. */
  readonly delayMs: number;
}

/** Options of {@link WorkQueue.run}. */
export interface WorkQueueRun {
  /** Maximum number of keys processed at once, 1 or more, or a limit that several queues share. */
  readonly concurrency: number | ConcurrencyLimit;
  /**
   * Maximum number of keys started in one turn of the event loop, so that requests of the first keys of a flood precede the last keys.
   * Default: no limit.
   */
  readonly startsPerTurn?: number | undefined;
  /** Processes one key. Any exception is a failure, and the key is retried. `signal` is the run's. */
  readonly handler: (key: string, signal: AbortSignal) => Promise<WorkResult | void>;
  readonly signal: AbortSignal;
  /** Gets a warning for each failure, unless {@link onError} is given. */
  readonly logger?: Logger | undefined;
  /** Called on each failure; must return at once and not throw. */
  readonly onError?: ((failure: WorkFailure) => void) | undefined;
}

/** State of one key, for people who look at a running queue. Times are on the queue's monotonic clock, in milliseconds. */
export interface KeyInspection {
  readonly state: "idle" | "queued" | "working";
  /** Time at which the key was queued or its work began; `undefined` while it is idle. */
  readonly sinceMs: number | undefined;
  /** Time at which it is queued by itself; `undefined` unless it is delayed. */
  readonly dueMs: number | undefined;
  /** Number of consecutive failures. */
  readonly failures: number;
  /** The last of these failures; `undefined` when there is none. */
  readonly failure: { readonly error: unknown; readonly atMs: number } | undefined;
}

/** State of a whole queue. */
export interface QueueInspection {
  readonly name: string;
  /** Number of keys that wait for a worker. */
  readonly queued: number;
  /** Number of keys being processed. */
  readonly working: number;
  /** Number of keys that are queued later: after a back-off, or when they asked for it. */
  readonly delayed: number;
  /** Number of keys whose last run failed. */
  readonly failing: number;
  /** Duration of the longest run in progress, in milliseconds; 0 if there is none. */
  readonly longestRunMs: number;
}

/** State of one key. It exists while the key is queued, delayed or processed, or has failed. */
interface Entry extends Delayed {
  readonly key: string;
  state: "idle" | "queued" | "working";
  /** Added while it was processed: queued again at the end. */
  dirty: boolean;
  /** Forgotten while it was processed: the outcome of that run is ignored. */
  forgotten: boolean;
  failures: number;
  /** The last failure; outdated when there are no {@link failures}. */
  failure: KeyInspection["failure"];
  /** End of the Retry-After of the last failure. */
  notBeforeMs: number;
  queuedMs: number;
}

/** A run in progress. */
interface Running extends WorkQueueRun {
  readonly concurrency: ConcurrencyLimit;
  /** Starts keys when a place is free, in the context in which the queue is run: another queue of the limit calls it in its own. */
  readonly onFree: () => void;
}

type Outcome = { readonly result: WorkResult | void } | { readonly error: unknown };

const defaultBackoff: Backoff = { initialMs: 1_000, maxMs: 300_000 };

/** Default of {@link WorkQueueOptions.maxRetryAfterMs}. */
export const defaultMaxRetryAfterMs = 300_000;

/**
 * Keys that need work, each processed by one handler at a time, with client-go's guarantees:
 *
 * - A key that is queued is not queued twice.
 * - A key is never processed twice at once. A key added while it is processed is processed exactly once more.
 * - An explicit {@link add} is never throttled. Only failures back off: exponentially, without a limit of retries, and never forgotten.
 * - A key has one due time. An earlier one replaces a later one, and queueing replaces both.
 *
 * Source: client-go `util/workqueue`; the single due time is controller-runtime's priority queue's.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #metrics: Metrics;
  readonly #labels: MetricLabels;
  readonly #backoff: Backoff;
  readonly #maxRetryAfterMs: number;
  readonly #throttlesAdds: boolean;
  readonly #entries = new Map<string, Entry>();
  /** Queued entries in order; one that was forgotten stays in it and is skipped. */
  #ready: Entry[] = [];
  #readyHead = 0;
  #readyCount = 0;
  readonly #delayed = new DelayHeap<Entry>();
  #timer: { readonly dueMs: number; readonly handle: Disposable } | undefined;
  #order = 0;
  #working = 0;
  /** Start time of each key that is being processed. */
  readonly #workedSinceMs = new Map<string, number>();
  #starting = false;
  /** Number of keys started in this turn of the event loop, and the handle that ends the turn at the limit. */
  #starts = 0;
  #turnEnd: Disposable | undefined;
  #run: Running | undefined;
  /** Whether the run's signal has aborted. A signal that is composed of others looks at all of them each time it is asked. */
  #isStopping = false;
  #drained: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#metrics = options.metrics ?? noMetrics;
    this.#labels = { name: options.name };
    this.#backoff = options.backoff ?? defaultBackoff;
    this.#maxRetryAfterMs = options.maxRetryAfterMs ?? defaultMaxRetryAfterMs;
    this.#throttlesAdds = options.throttlesAdds ?? true;
    this.#metrics.count("workqueue_adds_total", this.#labels, 0);
    this.#metrics.count("workqueue_retries_total", this.#labels, 0);
    this.#tellDepth();
  }

  /** Number of queued keys, without delayed ones. */
  get size(): number {
    return this.#readyCount;
  }

  /** Number of keys being processed. */
  get working(): number {
    return this.#working;
  }

  /** Returns the state of a key; `undefined` if the queue has nothing to do with it. */
  inspect(key: string): KeyInspection | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    const { state, failures, failure, dueMs, heapIndex, queuedMs } = entry;
    const sinceMs = state === "working" ? this.#workedSinceMs.get(key) : queuedMs;
    return {
      state,
      sinceMs: state === "idle" ? undefined : sinceMs,
      dueMs: heapIndex >= 0 ? dueMs : undefined,
      failures,
      failure: failures > 0 ? failure : undefined,
    };
  }

  /** Returns the state of the queue; looks at each of its keys. */
  inspectAll(): QueueInspection {
    let delayed = 0;
    let failing = 0;
    for (const { heapIndex, failures } of this.#entries.values()) {
      if (heapIndex >= 0) delayed++;
      if (failures > 0) failing++;
    }
    const [sinceMs = this.#clock.monotonic()] = this.#workedSinceMs.values();
    const longestRunMs = this.#clock.monotonic() - sinceMs;
    return { name: this.#labels["name"] ?? "", queued: this.size, working: this.working, delayed, failing, longestRunMs };
  }

  /**
   * Queues the key now. One that waits after a failure is worked at once and keeps its failure count; only where the
   * failure said how long to leave the other side alone, that is kept to.
   */
  add(key: string): void {
    const entry = this.#entry(key);
    if (entry.notBeforeMs > this.#clock.monotonic()) this.#delay(entry, entry.notBeforeMs);
    else this.#enqueue(entry);
  }

  /**
   * Queues the key now, as if it had never failed: what failed is no longer wanted. If it is being worked, that run's outcome
   * is dropped and the key is worked once more.
   */
  restart(key: string): void {
    const entry = this.#entry(key);
    entry.failures = 0;
    entry.notBeforeMs = 0;
    if (entry.state === "working") entry.forgotten = true;
    this.#enqueue(entry);
  }

  /** Queues the key in `ms` milliseconds; if it is due earlier, that stays. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) return this.add(key);
    const entry = this.#entry(key);
    this.#delay(entry, Math.max(this.#clock.monotonic() + ms, entry.notBeforeMs));
  }

  /** Drops the key and its failures. The outcome of a run in progress is ignored. */
  forget(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#delayed.delete(entry);
    entry.dirty = false;
    entry.failures = 0;
    entry.notBeforeMs = 0;
    if (entry.state === "working") {
      entry.forgotten = true;
      return;
    }
    if (entry.state === "queued") this.#setReadyCount(this.#readyCount - 1);
    entry.state = "idle";
    this.#entries.delete(key);
  }

  /** Forgets all failures, and processes every key that waits after one now. Call it when the cause is known to be gone. */
  resetBackoff(): void {
    const failed = [...this.#entries.values()].filter((entry) => entry.failures > 0);
    for (const entry of failed.toSorted(byDueTime)) {
      entry.failures = 0;
      entry.notBeforeMs = 0;
      if (entry.heapIndex >= 0) this.#enqueue(entry);
    }
  }

  /**
   * Processes keys until `signal` aborts; then starts no more, and resolves when the last handler has returned. Queued and delayed keys
   * stay. Failures while stopping are not reported.
   *
   * @throws Error if it is already being run
   * @throws RangeError if `concurrency` is a number less than 1
   */
  async run(run: WorkQueueRun): Promise<void> {
    if (this.#run) throw new Error(`work queue ${this.#labels["name"]}: it is already being run`);
    if (run.signal.aborted) return;
    const concurrency = typeof run.concurrency === "number" ? new ConcurrencyLimit(run.concurrency) : run.concurrency;
    const onFree = AsyncLocalStorage.bind(() => this.#startWork());
    this.#run = { ...run, concurrency, onFree };
    this.#isStopping = false;
    using _samples = this.#sample();
    const aborted = new Promise<void>((resolve) => run.signal.addEventListener("abort", () => resolve(this.#stop()), { once: true }));
    this.#startSoon();
    this.#arm();
    await aborted;
    concurrency.cancel(onFree);
    this.#timer?.handle[Symbol.dispose]();
    this.#timer = undefined;
    this.#turnEnd?.[Symbol.dispose]();
    this.#turnEnd = undefined;
    this.#starts = 0;
    if (this.#working > 0) await new Promise<void>((resolve) => (this.#drained = resolve));
    this.#drained = undefined;
    this.#run = undefined;
  }

  #stop(): void {
    this.#isStopping = true;
  }

  /** The queue's length, and the duration of the work in progress, because work that hangs is missing from the histogram of durations. */
  #sample(): Disposable {
    const seconds = (): number[] => {
      const nowMs = this.#clock.monotonic();
      return [...this.#workedSinceMs.values()].map((sinceMs) => (nowMs - sinceMs) / 1000);
    };
    const sum = (): number => seconds().reduce((total, value) => total + value, 0);
    const samples = [
      this.#metrics.sampled?.("workqueue_depth", () => this.#readyCount, this.#labels),
      this.#metrics.sampled?.("workqueue_unfinished_work_seconds", sum, this.#labels),
      this.#metrics.sampled?.("workqueue_longest_running_processor_seconds", () => Math.max(0, ...seconds()), this.#labels),
    ];
    return { [Symbol.dispose]: () => samples.forEach((each) => each?.[Symbol.dispose]()) };
  }

  #entry(key: string): Entry {
    let entry = this.#entries.get(key);
    if (!entry) {
      entry = {
        key,
        state: "idle",
        dirty: false,
        forgotten: false,
        failures: 0,
        failure: undefined,
        notBeforeMs: 0,
        queuedMs: 0,
        dueMs: 0,
        order: 0,
        heapIndex: -1,
      };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  /** Queues the key, or marks it to be queued at the end of its run. */
  #enqueue(entry: Entry): void {
    this.#delayed.delete(entry);
    if (entry.state === "queued" || entry.dirty) return;
    this.#metrics.count("workqueue_adds_total", this.#labels);
    if (entry.state === "working") entry.dirty = true;
    else this.#pushReady(entry);
  }

  #delay(entry: Entry, dueMs: number): void {
    if (entry.state === "queued" || entry.dirty) return;
    if (entry.heapIndex >= 0 && entry.dueMs <= dueMs) return;
    entry.dueMs = dueMs;
    entry.order = this.#order++;
    this.#delayed.set(entry);
    this.#arm();
  }

  /** Keeps one timer, for the key that is due first. It may fire early if that key was removed. */
  #arm(): void {
    const first = this.#delayed.peek();
    if (!first || !this.#run || this.#isStopping) return;
    if (this.#timer && this.#timer.dueMs <= first.dueMs) return;
    this.#timer?.handle[Symbol.dispose]();
    // Timers truncate fractions; without rounding up the timer would fire before a key is due.
    const delayMs = Math.max(0, Math.ceil(first.dueMs - this.#clock.monotonic()));
    const handle = this.#clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      this.#enqueueDue();
      this.#arm();
    });
    this.#timer = { dueMs: first.dueMs, handle };
  }

  #enqueueDue(): void {
    const nowMs = this.#clock.monotonic();
    for (let first = this.#delayed.peek(); first && first.dueMs <= nowMs; first = this.#delayed.peek()) this.#enqueue(first);
  }

  #pushReady(entry: Entry): void {
    entry.state = "queued";
    entry.queuedMs = this.#clock.monotonic();
    this.#ready.push(entry);
    this.#setReadyCount(this.#readyCount + 1);
    this.#startSoon();
  }

  #takeReady(): Entry | undefined {
    while (this.#readyHead < this.#ready.length) {
      const entry = this.#ready[this.#readyHead++];
      if (entry?.state !== "queued") continue;
      if (this.#readyHead > 1024 && this.#readyHead * 2 > this.#ready.length) {
        this.#ready = this.#ready.slice(this.#readyHead);
        this.#readyHead = 0;
      }
      this.#setReadyCount(this.#readyCount - 1);
      return entry;
    }
    this.#ready = [];
    this.#readyHead = 0;
    return undefined;
  }

  #setReadyCount(count: number): void {
    this.#readyCount = count;
    this.#tellDepth();
  }

  /** A gauge that is set would be that of one queue only if several of the same name, one for each node, share the metrics. */
  #tellDepth(): void {
    if (this.#metrics.sampled === undefined) this.#metrics.gauge("workqueue_depth", this.#readyCount, this.#labels);
  }

  /** Starts handlers after the caller's own turn: they never run inside `add`, and all adds of one turn count as one. */
  #startSoon(): void {
    if (this.#starting || !this.#run) return;
    this.#starting = true;
    queueMicrotask(() => {
      this.#starting = false;
      this.#startWork();
    });
  }

  #startWork(): void {
    const run = this.#run;
    if (!run) return;
    while (this.#readyCount > 0 && !this.#turnEnd && !this.#isStopping && run.concurrency.take(run.onFree)) {
      const entry = this.#takeReady();
      if (!entry) return run.concurrency.release();
      if (++this.#starts >= (run.startsPerTurn ?? Infinity)) this.#endTurn();
      this.#working++;
      entry.state = "working";
      void this.#work(entry, run);
    }
  }

  #endTurn(): void {
    this.#turnEnd = this.#clock.setTimer(0, () => {
      this.#turnEnd = undefined;
      this.#starts = 0;
      this.#startWork();
    });
  }

  async #work(entry: Entry, run: Running): Promise<void> {
    const startMs = this.#clock.monotonic();
    this.#workedSinceMs.set(entry.key, startMs);
    this.#metrics.observe("workqueue_queue_duration_seconds", (startMs - entry.queuedMs) / 1000, this.#labels);
    let outcome: Outcome;
    try {
      outcome = { result: await run.handler(entry.key, run.signal) };
    } catch (error) {
      outcome = { error };
    }
    this.#workedSinceMs.delete(entry.key);
    this.#metrics.observe("workqueue_work_duration_seconds", (this.#clock.monotonic() - startMs) / 1000, this.#labels);
    this.#working--;
    entry.state = "idle";
    if (!entry.forgotten) this.#conclude(entry, outcome, run);
    entry.forgotten = false;
    this.#settle(entry);
    run.concurrency.release();
    this.#startWork();
    if (this.#working === 0) this.#drained?.();
  }

  /** Schedules the next run according to the outcome of the last. */
  #conclude(entry: Entry, outcome: Outcome, run: WorkQueueRun): void {
    if ("result" in outcome) {
      entry.failures = 0;
      entry.notBeforeMs = 0;
      if (outcome.result?.requeueAfterMs !== undefined) this.addAfter(entry.key, outcome.result.requeueAfterMs);
    } else if (this.#isStopping) {
      // The run was aborted, not refused: a later run processes the key.
      entry.dirty = true;
    } else {
      this.#onFailure(entry, outcome.error, run);
    }
  }

  #onFailure(entry: Entry, error: unknown, run: WorkQueueRun): void {
    entry.failures++;
    const nowMs = this.#clock.monotonic();
    entry.failure = { error, atMs: nowMs };
    const retryAfterMs = Math.min(retryAfterMsOf(error) ?? 0, this.#maxRetryAfterMs);
    const delayMs = Math.max(retryAfterMs, backoffMs(this.#backoff, entry.failures, this.#random));
    entry.notBeforeMs = this.#throttlesAdds ? nowMs + retryAfterMs : 0;
    // A due time from before the failure must not precede the end of the Retry-After.
    if (entry.heapIndex >= 0 && entry.dueMs < entry.notBeforeMs) {
      this.#delayed.delete(entry);
      this.#delay(entry, entry.notBeforeMs);
    }
    this.#delay(entry, nowMs + delayMs);
    this.#metrics.count("workqueue_retries_total", this.#labels);
    const failure: WorkFailure = { key: entry.key, error, failures: entry.failures, delayMs };
    if (run.onError) run.onError(failure);
    else
      run.logger?.warn(
        { queue: this.#labels["name"], key: entry.key, attempt: entry.failures, delayMs: Math.round(delayMs), err: error },
        "work failed; trying again",
      );
  }

  /** Queues a key that was added while it was processed, and drops an entry without any state. */
  #settle(entry: Entry): void {
    if (entry.dirty) {
      entry.dirty = false;
      if (entry.notBeforeMs > this.#clock.monotonic()) this.#delay(entry, entry.notBeforeMs);
      else this.#pushReady(entry);
    }
    if (entry.state === "idle" && entry.heapIndex < 0) this.#entries.delete(entry.key);
  }
}
