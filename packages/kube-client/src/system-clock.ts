import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Clock, Random } from "./clock.ts";

/** setTimeout's limit: a longer wait would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    try {
      await delay(Math.min(ms, maxTimerMs), undefined, { signal });
    } catch (error) {
      // Node wraps the reason in an AbortError of its own.
      signal?.throwIfAborted();
      throw error;
    }
  },
  setTimer(ms, callback) {
    const timer = setTimeout(callback, Math.min(ms, maxTimerMs));
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** The machine's randomness; not for secrets. */
export const systemRandom: Random = { next: () => Math.random(), uuid: () => randomUUID() };
