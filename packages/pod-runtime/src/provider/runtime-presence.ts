import { untilAborted } from "@virtual-kubelet/async";
/** Whether the runtime tells what happens on it. While it does not, it may be restarting, and what fails says nothing of containers. */
export class RuntimePresence {
  #absences = 0;
  #back: PromiseWithResolvers<void> | undefined;

  /** The runtime no longer tells what happens. */
  leave(): void {
    if (this.#back) return;
    this.#absences++;
    this.#back = Promise.withResolvers();
  }

  /** The runtime tells what happens. */
  comeBack(): void {
    this.#back?.resolve();
    this.#back = undefined;
  }

  /** @returns whether the runtime is away, or was at any time since this call */
  watch(): () => boolean {
    const absences = this.#back ? this.#absences - 1 : this.#absences;
    return () => this.#absences > absences;
  }

  /** Waits while the runtime is away. @throws `signal.reason` when aborted */
  async untilBack(signal: AbortSignal): Promise<void> {
    while (this.#back) await untilAborted(this.#back.promise, signal);
  }
}
