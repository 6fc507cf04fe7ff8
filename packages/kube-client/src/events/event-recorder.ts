import { addAbortCallback, removeAbortCallback } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import { isNotFound, isUnavailable, messageOf } from "@virtual-kubelet/errdefs";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { statusOf } from "../errors/api-error.ts";
import { retryAfterMsOf } from "../work-queue/backoff.ts";
import type { KubeClient } from "../rest/client.ts";
import { EventBudget, type EventBudgetMembership, type EventSender } from "./event-budget.ts";
import { EventCorrelator, type EventSeries } from "./event-correlator.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { CoreEvent, ObjectReference } from "../rest/objects.ts";
import { resources } from "../rest/resources.ts";

const maxQueued = 1_000;
/** Number of events from which on they no longer wait for other writes, because the queue would fill up and events be lost. */
const maxQueuedWhileBusy = maxQueued / 2;
/** The API server's limit. */
const maxMessageLength = 1_024;
const flushMs = 2_000;
/** Number of attempts and interval of an event while the server is away. Source: client-go `tools/record/event.go`. */
const maxTries = 12;
const retryMs = 10_000;
/** Maximum share of the queue for a namespace whose events have to wait; the rest is for others. */
const maxQueuedWhileHeld = maxQueued / 2;
/** Maximum Retry-After that is respected, because other events wait behind this one. */
const maxRetryAfterMs = 60_000;
const maxNameLength = 253;

/** Options of an {@link EventRecorder}. */
export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** Source of the events, such as `virtual-kubelet`. */
  readonly component: string;
  /** Host of the source: the node's name. */
  readonly host: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Budget of all recorders of a program that write to this API server. Default: one of its own. */
  readonly budget?: EventBudget | undefined;
  /**
   * Number of more important writes that wait for the API server, such as the statuses of many pods. Events are held back while there are
   * many, as long as there is room for those that wait. Counts as 0 if it throws.
   * Default: none.
   */
  readonly waitingWrites?: (() => number) | undefined;
}

/** What became of the events since the start. */
export interface EventCounts {
  /** Number of events that wait to be sent. */
  readonly waiting: number;
  /** Number of events beyond the budget, which were dropped. */
  readonly dropped: number;
  /** Number of events that the API server did not accept. */
  readonly failed: number;
}

/**
 * Records events on objects, for people to read.
 *
 * @typeParam Reason - the reasons that the caller may write; default: any
 */
export interface EventRecorder<Reason extends string = string> {
  /** What became of the events so far. */
  readonly counts: EventCounts;
  /**
   * Records an event; returns at once and never throws. Events beyond a thousand that wait for the budget (50 a second, bursts of 100), or
   * 20,000 of all recorders that share it, are dropped and counted in `vk_events_dropped_total`. A message over 1,024 characters is truncated.
   * While the server is away, the oldest event is tried twelve times, with ten seconds between attempts or the server's Retry-After, a minute at
   * most; then it is given up and counted in `vk_events_failed_total`. All others wait behind it, and the next has twelve attempts of its
   * own, so an event may wait for as long as the server is away. If the server answers that it cannot accept one now, because of a
   * limit or a webhook, only events of the same namespace wait.
   *
   * As with a kubelet, no object silences another: a repeated event within ten minutes increments the count of the first, from the
   * tenth message of one reason an object's events are combined into one that shows the latest, and after 25 events an
   * object has one in five minutes. Events beyond that are in the count of the next, and in `vk_events_filtered_total`.
   */
  event(object: ObjectReference, type: "Normal" | "Warning", reason: Reason, message: string): void;
  /**
   * Sends recorded events until aborted; then the remaining ones, for two seconds at most.
   *
   * @param hardSignal - once it aborts, nothing more is sent
   */
  run(signal: AbortSignal, hardSignal?: AbortSignal): Promise<void>;
}

/** Returns a recorder that writes events to the API server within a kubelet's budget. */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new ApiEventRecorder(options);
}

interface Pending {
  readonly series: EventSeries;
  readonly object: ObjectReference;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly isCombined: boolean;
  /** Number of occurrences since its series was last sent. */
  readonly occurrences: number;
  readonly atMs: number;
  tries: number;
}

class ApiEventRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #queue: Pending[] = [];
  readonly #correlator = new EventCorrelator();
  readonly #budget: EventBudget;
  readonly #sender: EventSender;
  /** `undefined` unless the recorder runs. */
  #membership: EventBudgetMembership | undefined;
  /** Namespaces whose events the server does not accept now, with the end of the wait on the monotonic clock. */
  readonly #held = new Map<string, number>();
  #dropped = 0;
  #failed = 0;
  #wake: () => void = () => {};

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#budget = options.budget ?? new EventBudget(options);
    this.#sender = {
      waitingWrites: options.waitingWrites ?? (() => 0),
      isFillingUp: () => this.#queue.length > maxQueuedWhileBusy,
    };
  }

  get counts(): EventCounts {
    return { waiting: this.#queue.length, dropped: this.#dropped, failed: this.#failed };
  }

  event(object: ObjectReference, type: "Normal" | "Warning", reason: string, message: string): void {
    const { clock, metrics } = this.#options;
    const occurrence = { object, type, reason, message: cut(message) };
    const { series, isSpam, isCombined, message: told } = this.#correlator.correlate(occurrence, clock.monotonic());
    const occurrences = ++series.unsent;
    if (isSpam) return metrics.count("vk_events_filtered_total");
    const room = this.#held.has(namespaceOf(object)) ? maxQueuedWhileHeld : maxQueued;
    if (this.#queue.length >= room || !this.#budget.hasRoom) return this.#drop(1);
    series.unsent = 0;
    this.#queue.push({ series, object, type, reason, message: cut(told), isCombined, occurrences, atMs: clock.now(), tries: 0 });
    this.#membership?.addQueued(1);
    this.#wake();
  }

  async run(soft: AbortSignal, hardSignal?: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const signal = hardSignal ? AbortSignal.any([soft, hardSignal]) : soft;
    // Requests may outlast the signal, so that a request in progress is not lost.
    const overdue = new AbortController();
    const limit = hardSignal ? AbortSignal.any([overdue.signal, hardSignal]) : overdue.signal;
    using membership = this.#budget.join(this.#sender);
    membership.addQueued(this.#queue.length);
    this.#membership = membership;
    let flushTimer: Disposable | undefined;
    const onAbort = (): void => {
      flushTimer = clock.setTimer(flushMs, () => overdue.abort(new Error("the time to send the last events is over")));
    };
    addAbortCallback(signal, onAbort);
    if (signal.aborted) onAbort();
    try {
      while (!signal.aborted) await this.#work(signal, limit);
      for (let next = this.#queue[0]; next && !limit.aborted; next = this.#queue[0]) {
        const send = async (): Promise<void> => {
          await this.#send(next, limit);
          this.#remove(next);
        };
        await this.#budget.flush(send, limit).catch(() => {});
      }
    } finally {
      removeAbortCallback(signal, onAbort);
      flushTimer?.[Symbol.dispose]();
    }
    this.#drop(this.#queue.length);
    this.#queue.length = 0;
    this.#membership = undefined;
  }

  #remove(pending: Pending): void {
    this.#queue.splice(this.#queue.indexOf(pending), 1);
    this.#membership?.addQueued(-1);
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#options.metrics.count("vk_events_dropped_total", {}, count);
  }

  /** Sends the next event, or waits for one, for a token, or for the API server. */
  async #work(signal: AbortSignal, limit: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const nowMs = clock.monotonic();
    const next = this.#queue.find(({ object }) => (this.#held.get(namespaceOf(object)) ?? nowMs) <= nowMs);
    if (!next) return this.#nextEvent(Math.min(...this.#held.values()) - nowMs, signal);
    await this.#budget.take(this.#sender, signal);
    // What is left is sent at the end.
    if (signal.aborted) return;
    const waitMs = await this.#send(next, limit);
    if (waitMs === undefined) this.#remove(next);
    else await clock.sleep(waitMs, signal).catch(() => {});
  }

  /** Waits for the next event, but no longer than for the end of a namespace's wait. */
  #nextEvent(maxMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const timer = Number.isFinite(maxMs) ? clock.setTimer(maxMs, () => done()) : undefined;
      const done = (): void => {
        timer?.[Symbol.dispose]();
        removeAbortCallback(signal, done);
        this.#wake = () => {};
        resolve();
      };
      this.#wake = done;
      addAbortCallback(signal, done);
    });
  }

  /** @returns milliseconds before the next request; `undefined` if the event is done */
  async #send(pending: Pending, signal: AbortSignal): Promise<number | undefined> {
    const { clock, logger, metrics } = this.#options;
    const namespace = namespaceOf(pending.object);
    this.#held.delete(namespace);
    try {
      if (!(await this.#countUp(pending, signal))) await this.#create(pending, signal);
      return undefined;
    } catch (error) {
      if (isUnavailable(error) && ++pending.tries < maxTries) {
        const waitMs = Math.min(retryAfterMsOf(error) ?? retryMs, maxRetryAfterMs);
        if (statusOf(error) === undefined) return waitMs;
        this.#held.set(namespace, clock.monotonic() + waitMs);
        return 0;
      }
      this.#failed++;
      metrics.count("vk_events_failed_total");
      logger.debug({ reason: pending.reason, err: messageOf(error) }, "event could not be recorded");
      return undefined;
    }
  }

  /** @returns whether the series' event existed and its count was updated */
  async #countUp({ series, message, isCombined, occurrences, atMs }: Pending, signal: AbortSignal): Promise<boolean> {
    const { stored } = series;
    if (!stored) return false;
    const count = stored.count + occurrences;
    const body = { count, lastTimestamp: rfc3339(atMs), ...(isCombined && { message }) };
    try {
      await this.#options.client.patch(
        resources.events,
        stored,
        { type: "merge", body },
        { answer: "metadata", managedFields: "drop", signal },
      );
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
    stored.count = count;
    return true;
  }

  async #create({ series, object, type, reason, message, occurrences, atMs }: Pending, signal: AbortSignal): Promise<void> {
    const { client, component, host, random } = this.#options;
    const namespace = namespaceOf(object);
    const readable = `${object.name}.${random.uuid().replaceAll("-", "").slice(0, 16)}`;
    const name = readable.length > maxNameLength ? random.uuid() : readable;
    const time = rfc3339(atMs);
    const event: CoreEvent = {
      metadata: { name, namespace },
      involvedObject: object,
      type,
      reason,
      message,
      source: { component, host },
      reportingComponent: component,
      reportingInstance: host,
      firstTimestamp: time,
      lastTimestamp: time,
      count: occurrences,
    };
    await client.create(resources.events, event, { answer: "metadata", managedFields: "drop", signal });
    series.stored = { namespace, name, count: occurrences };
  }
}

/** Returns the namespace of the object's events. */
function namespaceOf(object: ObjectReference): string {
  return object.namespace ?? "default";
}

function cut(message: string): string {
  return message.length > maxMessageLength ? `${message.slice(0, maxMessageLength - 1)}…` : message;
}
