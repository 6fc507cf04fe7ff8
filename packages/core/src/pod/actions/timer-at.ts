import type { Clock } from "@virtual-kubelet/clock";

/**
 * Calls back when the clock's monotonic time has reached `dueMs`, and never before: a timer of Node.js counts from the beginning of the
 * current turn of the event loop, so that it may fire early.
 */
export function timerAt(clock: Pick<Clock, "monotonic" | "setTimer">, dueMs: number, callback: () => void): Disposable {
  let timer: Disposable;
  const wait = (): void => {
    timer = clock.setTimer(Math.max(0, dueMs - clock.monotonic()), () => (clock.monotonic() < dueMs ? wait() : callback()));
  };
  wait();
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
