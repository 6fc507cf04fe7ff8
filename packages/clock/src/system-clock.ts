import { randomUUID } from "node:crypto";
import { sleepOn, type Clock, type Random } from "./clock.ts";

/** Longest delay that a timer of Node.js accepts, in milliseconds: 24.8 days. With a longer one it fires after 1 ms. */
const longestDelayMs = 2 ** 31 - 1;

/** The machine's time. A pending sleep or timer keeps the process alive: a program that waits to try again is not at its end. */
export const systemClock: Clock = clockOf((timer) => timer);

/** The machine's time for servers within a program: a pending sleep or timer does not keep the process alive. */
export const backgroundClock: Clock = clockOf((timer) => timer.unref());

/** @param prepare - called with each timer of Node.js that is set */
function clockOf(prepare: (timer: NodeJS.Timeout) => NodeJS.Timeout): Clock {
  const setTimer = (ms: number, callback: () => void): Disposable => {
    const dueMs = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number): void => {
      timer = prepare(setTimeout(onTimeout, Math.min(Math.ceil(leftMs), longestDelayMs)));
    };
    // A timer of Node.js counts from the beginning of the current turn of the event loop, so that it may fire early.
    const onTimeout = (): void => {
      const leftMs = dueMs - performance.now();
      if (leftMs > 0) wait(leftMs);
      else callback();
    };
    wait(ms);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  };
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: (ms, signal) => sleepOn({ setTimer }, ms, signal),
    setTimer,
  };
}

/** The machine's randomness; not for secrets. */
export const systemRandom: Random = {
  next: () => Math.random(),
  uuid: () => randomUUID(),
};
