import { randomUUID } from "node:crypto";
import { setTimeout as sleepFor } from "node:timers/promises";
import type { Clock, Random } from "./clock.ts";

/** The machine's time. A pending timer does not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    try {
      await sleepFor(ms, undefined, signal === undefined ? { ref: false } : { signal, ref: false });
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  },
  setTimer(ms, callback) {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** The machine's randomness. */
export const systemRandom: Random = {
  next: () => Math.random(),
  uuid: () => randomUUID(),
};
