import type { Clock } from "@virtual-kubelet/clock";

/** Wakes a loop that waits: a call while the loop is busy makes its next wait end at once, and no call is counted twice. */
export class Wake {
  #called = false;
  #end: (() => void) | undefined;

  /** Ends the wait under way, or else the next one. */
  call(): void {
    this.#called = true;
    this.#end?.();
  }

  /**
   * Waits until called, for at most `ms` milliseconds.
   *
   * @returns whether it was called
   * @throws `signal.reason` when aborted
   */
  async wait(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (!this.#called) {
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
    const wasCalled = this.#called;
    this.#called = false;
    return wasCalled;
  }
}
