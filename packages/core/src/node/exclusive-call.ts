import { withDeadline, type Deadline } from "@virtual-kubelet/async";
import { DeadlineExceededError } from "@virtual-kubelet/errdefs";

/**
 * A call that may ignore its signal. Each call has a deadline, and no other call begins before the previous one has
 * returned.
 */
export class ExclusiveCall<T> {
  readonly #deadline: Deadline;
  readonly #call: (signal: AbortSignal) => Promise<T>;
  #isUnderWay = false;

  constructor(deadline: Deadline, call: (signal: AbortSignal) => Promise<T>) {
    this.#deadline = deadline;
    this.#call = call;
  }

  /**
   * Calls, and waits for the answer until the deadline.
   *
   * @throws `signal.reason` when aborted; DeadlineExceededError when the deadline passes, and at once if an earlier
   * call has not returned; otherwise the error of the call
   */
  async run(signal: AbortSignal): Promise<T> {
    if (this.#isUnderWay) throw new DeadlineExceededError(`${this.#deadline.what}: the previous call has not returned yet`);
    return withDeadline(this.#deadline, signal, async (inner) => {
      this.#isUnderWay = true;
      try {
        return await this.#call(inner);
      } finally {
        this.#isUnderWay = false;
      }
    });
  }
}
