import type { Clock } from "@virtual-kubelet/clock";

/**
 * Wakes a loop that waits. A notification that comes while the loop is busy ends its next wait at once; several of them count as
 * one.
 */
export class Signal {
  #isNotified = false;
  #end: (() => void) | undefined;

  /** Ends the wait under way, or else the next one. */
  notify(): void {
    this.#isNotified = true;
    this.#end?.();
  }

  /**
   * Waits until notified, for at most `ms` milliseconds.
   *
   * @returns whether it was notified
   * @throws `signal.reason` when aborted
   */
  async wait(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (!this.#isNotified) {
      await new Promise<void>((resolve, reject) => {
        const timer = clock.setTimer(ms, () => end(resolve));
        const onAbort = (): void => end(() => reject(signal.reason));
        const end = (settle: () => void): void => {
          timer[Symbol.dispose]();
          signal.removeEventListener("abort", onAbort);
          this.#end = undefined;
          settle();
        };
        this.#end = () => end(resolve);
        signal.addEventListener("abort", onAbort, { once: true });
      });
    }
    const wasNotified = this.#isNotified;
    this.#isNotified = false;
    return wasNotified;
  }
}
