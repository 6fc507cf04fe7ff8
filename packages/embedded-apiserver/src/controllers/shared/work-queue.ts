import type { Clock } from "@virtual-kubelet/clock";

/** Work by key: a key that is added many times before its turn is worked once. */
export interface WorkQueue extends Disposable {
  /** Has the key worked soon, after the code that runs now. */
  add(key: string): void;
  /** Has the key worked after a delay in milliseconds; of several delays the shortest counts. */
  addAfter(key: string, delayMs: number): void;
}

/** What a work queue needs. */
export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Brings the world to where the key's object wants it. @returns after how many milliseconds to look again, if at all */
  readonly process: (key: string) => number | undefined | void;
  /** Told of what `process` throws; the key is worked again, later each time. */
  readonly onError: (error: unknown) => void;
}

/** So many keys are worked before requests have their turn. */
const batchSize = 50;
/** And so many in small batches, where controllers give each other work without end. */
const mostInOneTurn = 500;
const firstRetryMs = 100;
const longestRetryMs = 30_000;

/** Starts a queue that is idle until a key is added. */
export function createWorkQueue({ clock, process, onError }: WorkQueueOptions): WorkQueue {
  const queue = new Set<string>();
  const timers = new Map<string, { readonly dueMs: number; readonly timer: Disposable }>();
  const failures = new Map<string, number>();
  let isScheduled = false;
  let isDisposed = false;
  let inThisTurn = 0;
  /** After a batch: requests have their turn. */
  let pause: Disposable | undefined;

  function add(key: string): void {
    if (isDisposed) return;
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
    try {
      const againMs = process(key);
      failures.delete(key);
      if (againMs !== undefined) addAfter(key, againMs);
    } catch (error) {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      onError(error);
      addAfter(key, Math.min(firstRetryMs * 2 ** count, longestRetryMs));
    }
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
