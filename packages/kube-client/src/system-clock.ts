import { randomUUID } from "node:crypto";
import type { Clock, Random } from "./clock.ts";

/** Longest wait of a timer of Node.js, in milliseconds: one that is set to more ends at once. */
const longestMs = 2 ** 31 - 1;

/** The machine's time. A pending sleep or timer keeps the process alive: a program that waits to try again is not at its end. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => reject(signal?.reason);
    using _timer = setTimer(ms, resolve);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  },
  setTimer,
};

function setTimer(ms: number, callback: () => void): Disposable {
  let timer: NodeJS.Timeout;
  const wait = (leftMs: number): void => {
    timer = setTimeout(() => (leftMs > longestMs ? wait(leftMs - longestMs) : callback()), Math.min(leftMs, longestMs));
  };
  wait(ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** The machine's randomness; not for secrets. */
export const systemRandom: Random = {
  next: () => Math.random(),
  uuid: () => randomUUID(),
};
