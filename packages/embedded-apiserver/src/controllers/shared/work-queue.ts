import type { Clock } from "@virtual-kubelet/clock";
import { runResumably } from "../../rest/steps.ts";

/** Queue of keys with a worker. A key that is added several times before it is processed is processed once. */
export interface WorkQueue extends Disposable {
  /** Processes the key after the current synchronous code. */
  add(key: string): void;
  /** Processes the key after a delay in milliseconds. If several delays are pending for a key, the shortest wins. */
  addAfter(key: string, delayMs: number): void;
}

/** Options of {@link createWorkQueue}. */
export interface WorkQueueOptions {
  readonly clock: Clock;
  /**
   * Reconciles the key's object. If a write has to wait (WriteWaits), it is called again when the write has finished, and the same write
   * returns or throws what the first one did. No other key waits for that.
   *
   * @returns milliseconds until the key is processed again; `undefined` for not again
   */
  readonly process: (key: string) => number | undefined | void;
  /** Called with errors of `process`; the key is retried with exponential back-off. */
  readonly onError: (error: unknown) => void;
}

/** Keys processed in one batch; requests are served between batches. */
const batchSize = 50;
/** Keys processed in one turn of the event loop over several batches, because controllers can trigger each other endlessly. */
const mostInOneTurn = 500;
const firstRetryMs = 100;
const longestRetryMs = 30_000;

/** Creates a queue, which is idle until a key is added. */
export function createWorkQueue({ clock, process, onError }: WorkQueueOptions): WorkQueue {
  const queue = new Set<string>();
  const timers = new Map<string, { readonly dueMs: number; readonly timer: Disposable }>();
  const failures = new Map<string, number>();
  /** Keys with a write that has to wait. The value says whether the key was added meanwhile. */
  const waiting = new Map<string, boolean>();
  let isScheduled = false;
  let isDisposed = false;
  let inThisTurn = 0;
  /** Timer between two batches. */
  let pause: Disposable | undefined;

  function add(key: string): void {
    if (isDisposed) return;
    if (waiting.has(key)) return void waiting.set(key, true);
    queue.add(key);
    if (isScheduled) return;
    isScheduled = true;
    queueMicrotask(drain);
  }

  function drain(): void {
    let worked = 0;
    for (const key of queue) {
      if (worked++ === batchSize || inThisTurn === mostInOneTurn) {
        pause = clock.setTimer(0, resume);
        return;
      }
      queue.delete(key);
      if (inThisTurn++ === 0) setImmediate(() => (inThisTurn = 0));
      work(key);
    }
    isScheduled = false;
  }

  function resume(): void {
    inThisTurn = 0;
    drain();
  }

  function work(key: string): void {
    if (isDisposed) return;
    let againMs: number | undefined;
    try {
      const unfinished = runResumably(() => {
        if (!isDisposed) againMs = process(key) ?? undefined;
      });
      if (unfinished === undefined) return succeed(key, againMs);
      waiting.set(key, false);
      void unfinished.then(
        () => endWait(key, () => succeed(key, againMs)),
        (error: unknown) => endWait(key, () => fail(key, error)),
      );
    } catch (error) {
      fail(key, error);
    }
  }

  function endWait(key: string, end: () => void): void {
    const isAdded = waiting.get(key) === true;
    waiting.delete(key);
    if (isDisposed) return;
    end();
    if (isAdded) add(key);
  }

  function succeed(key: string, againMs: number | undefined): void {
    failures.delete(key);
    if (againMs !== undefined) addAfter(key, againMs);
  }

  function fail(key: string, error: unknown): void {
    const count = failures.get(key) ?? 0;
    failures.set(key, count + 1);
    onError(error);
    addAfter(key, Math.min(firstRetryMs * 2 ** count, longestRetryMs));
  }

  function addAfter(key: string, delayMs: number): void {
    if (isDisposed) return;
    const dueMs = clock.monotonic() + delayMs;
    const pending = timers.get(key);
    if (pending !== undefined && pending.dueMs <= dueMs) return;
    pending?.timer[Symbol.dispose]();
    const timer = clock.setTimer(delayMs, () => {
      timers.delete(key);
      add(key);
    });
    timers.set(key, { dueMs, timer });
  }

  return {
    add,
    addAfter,
    [Symbol.dispose]() {
      isDisposed = true;
      pause?.[Symbol.dispose]();
      queue.clear();
      for (const { timer } of timers.values()) timer[Symbol.dispose]();
      timers.clear();
    },
  };
}
