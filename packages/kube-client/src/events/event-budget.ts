import { addAbortCallback, removeAbortCallback, Semaphore } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";

/** Source: the kubelet's EventRecordQPS and EventBurst. */
const perSecond = 50;
const burst = 100;
/** Minimum time between two events while other writes wait: a tenth of the budget. */
const busyIntervalMs = 200;
/** Number of waiting writes from which on events are held back. */
const manyWrites = 16;
/** Number of events that wait in all queues: those of 400 seconds, which take 20 MiB. */
const maxQueued = 20_000;
/** Number of recorders that send their last events at once. */
const maxFlushing = 8;

/** An event recorder as its budget sees it. A function that throws counts as 0, or `false`. */
export interface EventSender {
  /** Number of more important writes that wait for the API server, such as the statuses of pods. */
  readonly waitingWrites: () => number;
  /** Whether its events no longer wait for other writes, because its queue would fill up and events be lost. */
  readonly isFillingUp: () => boolean;
}

/** Part of a sender in a budget until it is disposed of. */
export interface EventBudgetMembership extends Disposable {
  /** Notes that more of the sender's events wait; with a negative number, fewer. */
  addQueued(count: number): void;
}

/**
 * The number of events that one program may send to an API server: 50 a second and bursts of 100, as a kubelet; five a second while 16 or
 * more of its other writes wait. Event recorders that share a budget take turns, and at most 20,000 of their events wait.
 */
export class EventBudget {
  readonly #clock: Clock;
  readonly #senders = new Set<EventSender>();
  /** Calls that end the wait of a sender, in the order of their coming. */
  readonly #waiting = new Map<EventSender, () => void>();
  readonly #flushes = new Semaphore(maxFlushing);
  #timer: Disposable | undefined;
  /** Number of events that wait in the queues of all senders. */
  #queued = 0;
  #tokens = burst;
  #tokensAtMs: number;
  #takenAtMs = -Infinity;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
    this.#tokensAtMs = clock.monotonic();
  }

  /** Adds a sender, whose waiting writes and events count until the membership is disposed of. */
  join(sender: EventSender): EventBudgetMembership {
    this.#senders.add(sender);
    let queued = 0;
    let isMember = true;
    const addQueued = (count: number): void => {
      if (!isMember) return;
      queued += count;
      this.#queued += count;
    };
    return {
      addQueued,
      [Symbol.dispose]: () => {
        addQueued(-queued);
        isMember = false;
        this.#senders.delete(sender);
      },
    };
  }

  /** Whether one more event may wait. */
  get hasRoom(): boolean {
    return this.#queued < maxQueued;
  }

  /**
   * Sends one of the last events of a recorder that ends, beyond the budget, but few at once.
   *
   * @throws `signal.reason` when aborted before; else what `send` throws
   */
  flush(send: () => Promise<unknown>, signal: AbortSignal): Promise<unknown> {
    return this.#flushes.run(send, signal);
  }

  /** Resolves when the sender may send an event, or when aborted. A sender waits for one event at a time. */
  take(sender: EventSender, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        removeAbortCallback(signal, end);
        this.#waiting.delete(sender);
        resolve();
      };
      if (signal.aborted) return resolve();
      addAbortCallback(signal, end);
      this.#waiting.set(sender, end);
      this.#serve();
    });
  }

  #serve(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    for (let [first] = this.#waiting.keys(); first; [first] = this.#waiting.keys()) {
      const nowMs = this.#clock.monotonic();
      const tokenMs = this.#tokenMs(nowMs);
      if (tokenMs > 0) return this.#serveIn(tokenMs);
      const busyMs = this.#takenAtMs + busyIntervalMs - nowMs;
      const isHeldBack = busyMs > 0 && this.#queued <= maxQueued / 2 && this.#isBusy();
      const sender = isHeldBack ? [...this.#waiting.keys()].find(({ isFillingUp }) => answerOf(isFillingUp, false)) : first;
      if (!sender) return this.#serveIn(busyMs);
      this.#tokens--;
      // Whoever goes before others does not delay them.
      if (!isHeldBack) this.#takenAtMs = nowMs;
      this.#waiting.get(sender)?.();
    }
  }

  #serveIn(ms: number): void {
    this.#timer = this.#clock.setTimer(Math.ceil(ms), () => this.#serve());
  }

  /** Milliseconds until there is a token. */
  #tokenMs(nowMs: number): number {
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#tokensAtMs) / 1000) * perSecond);
    this.#tokensAtMs = nowMs;
    return this.#tokens < 1 ? ((1 - this.#tokens) / perSecond) * 1000 : 0;
  }

  #isBusy(): boolean {
    let count = 0;
    for (const { waitingWrites } of this.#senders) count += answerOf(waitingWrites, 0);
    return count >= manyWrites;
  }
}

/** Returns the sender's answer. One that throws must not stop the others. */
function answerOf<Answer>(ask: () => Answer, fallback: Answer): Answer {
  try {
    return ask();
  } catch {
    return fallback;
  }
}
