/** Work that waits for a permit. */
interface Waiting {
  readonly group: string | undefined;
  readonly begin: () => void;
}

/**
 * Limits how much work runs at once; the rest waits in the order it came. The last quarter of the permits, rounded up, is kept for groups
 * that hold fewer than `perGroup`, so that a few groups whose work never ends do not stop the others.
 */
export class Semaphore {
  readonly #waiting: Waiting[] = [];
  readonly #held = new Map<string, number>();
  /** Size of the last quarter. */
  readonly #kept: number;
  readonly #perGroup: number;
  #free: number;

  /**
   * @param permits - maximum number of works at once, 1 or more
   * @param options - `perGroup`: number of permits up to which a group may take from the last quarter; default: 1
   */
  constructor(permits: number, { perGroup = 1 }: { readonly perGroup?: number } = {}) {
    this.#free = permits;
    this.#kept = Math.ceil(permits / 4);
    this.#perGroup = perGroup;
  }

  /**
   * Runs the work as soon as there is a permit for it.
   *
   * @param group - the group that the work counts for, such as a namespace. Default: none, which may take any permit
   * @throws `signal.reason` when aborted before the work begins; else what the work throws
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal, group?: string): Promise<T> {
    if (this.#hasPermitFor(group)) this.#take(group);
    else await this.#wait(signal, group);
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.#release(group);
    }
  }

  /**
   * Takes a permit now, without waiting.
   *
   * @param group - as in {@link run}
   * @returns gives the permit back, once; `undefined` when there is none
   */
  tryAcquire(group?: string): (() => void) | undefined {
    if (!this.#hasPermitFor(group)) return undefined;
    this.#take(group);
    let isHeld = true;
    return () => {
      if (isHeld) this.#release(group);
      isHeld = false;
    };
  }

  #hasPermitFor(group: string | undefined): boolean {
    const mayTakeKept = group === undefined || this.#heldBy(group) < this.#perGroup;
    return this.#free > (mayTakeKept ? 0 : this.#kept);
  }

  #take(group: string | undefined): void {
    this.#free--;
    if (group !== undefined) this.#held.set(group, this.#heldBy(group) + 1);
  }

  #release(group: string | undefined): void {
    this.#free++;
    if (group !== undefined) {
      const left = this.#heldBy(group) - 1;
      if (left > 0) this.#held.set(group, left);
      else this.#held.delete(group);
    }
    // Two may begin: one with the permit, and one of this group, which may take from the last quarter again.
    for (;;) {
      const index = this.#waiting.findIndex((each) => this.#hasPermitFor(each.group));
      const [next] = index < 0 ? [] : this.#waiting.splice(index, 1);
      if (!next) return;
      this.#take(next.group);
      next.begin();
    }
  }

  #heldBy(group: string): number {
    return this.#held.get(group) ?? 0;
  }

  async #wait(signal: AbortSignal, group: string | undefined): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { group, begin: resolve };
    const onAbort = (): void => {
      const index = this.#waiting.indexOf(waiting);
      // It has its permit already, and only its continuation is still to run.
      if (index < 0) return;
      this.#waiting.splice(index, 1);
      reject(signal.reason);
    };
    this.#waiting.push(waiting);
    signal.addEventListener("abort", onAbort, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", onAbort));
  }
}
