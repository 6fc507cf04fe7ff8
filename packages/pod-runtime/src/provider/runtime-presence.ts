import { untilAborted } from "@virtual-kubelet/async";
/** Whether the runtime sends events. While it does not, it may be restarting, and failed calls say nothing about containers. */
export class RuntimePresence {
  #absences = 0;
  #back: PromiseWithResolvers<void> | undefined;

  /** Notes that the runtime sends no events any more. */
  leave(): void {
    if (this.#back) return;
    this.#absences++;
    this.#back = Promise.withResolvers();
  }

  /** Notes that the runtime sends events again. */
  comeBack(): void {
    this.#back?.resolve();
    this.#back = undefined;
  }

  /** @returns a function: whether the runtime is away, or has been since this call */
  watch(): () => boolean {
    const absences = this.#back ? this.#absences - 1 : this.#absences;
    return () => this.#absences > absences;
  }

  /** Waits until the runtime sends events. @throws `signal.reason` when aborted */
  async untilBack(signal: AbortSignal): Promise<void> {
    while (this.#back) await untilAborted(this.#back.promise, signal);
  }
}
