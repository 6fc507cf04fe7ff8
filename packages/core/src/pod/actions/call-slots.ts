import type { Clock } from "@virtual-kubelet/clock";

/** What {@link CallSlots} needs. */
export interface CallSlotsOptions {
  /** Calls at once. */
  readonly size: number;
  /** How long a call keeps its slot, in milliseconds; one that takes longer goes on without. */
  readonly holdMs: number;
  readonly clock: Clock;
}

/**
 * A semaphore whose slots come back by themselves: a call that hangs stops only its own pod. Those who wait are served in
 * their order.
 */
export class CallSlots {
  readonly #options: CallSlotsOptions;
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(options: CallSlotsOptions) {
    this.#options = options;
    this.#free = options.size;
  }

  /** Calls that wait for a slot. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Takes a slot that is free. @returns what gives it back; `undefined` if there is none */
  tryAcquire(): Disposable | undefined {
    if (this.#free <= 0) return undefined;
    this.#free--;
    return this.#hold();
  }

  /** Waits for a slot. @returns what gives it back @throws `signal.reason` when aborted */
  async acquire(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    const free = this.tryAcquire();
    if (free) return free;
    await this.#wait(signal);
    return this.#hold();
  }

  #hold(): Disposable {
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      timer[Symbol.dispose]();
      this.#release();
    };
    const timer = this.#options.clock.setTimer(this.#options.holdMs, release);
    return { [Symbol.dispose]: release };
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const take = (): void => {
        this.#waiting.delete(take);
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = (): void => {
        this.#waiting.delete(take);
        reject(signal.reason);
      };
      this.#waiting.add(take);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Hands the slot to the first who waits. */
  #release(): void {
    const [next] = this.#waiting;
    if (next) next();
    else this.#free++;
  }
}
