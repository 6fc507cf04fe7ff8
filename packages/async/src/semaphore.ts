/** A request for a permit that is not granted yet. */
interface Waiting {
  readonly group: string | undefined;
  readonly grant: () => void;
}

/**
 * Limits how much work runs at once; the rest waits in order of arrival. The last quarter of the permits, rounded up, is reserved for
 * groups that hold fewer than `perGroup`, so that a few groups whose work never ends cannot block the others.
 */
export class Semaphore {
  readonly #waiting = new Set<Waiting>();
  readonly #held = new Map<string, number>();
  /** Number of permits in the last quarter. */
  readonly #reserved: number;
  readonly #perGroup: number;
  readonly #permits: number;
  #free: number;

  /**
   * @param permits - maximum number of permits held at once, 1 or more
   * @param options - `perGroup`: number of permits up to which a group may take from the last quarter; default: 1
   */
  constructor(permits: number, { perGroup = 1 }: { readonly perGroup?: number } = {}) {
    this.#permits = permits;
    this.#free = permits;
    this.#reserved = Math.ceil(permits / 4);
    this.#perGroup = perGroup;
  }

  /** Number of permits that are held. */
  get held(): number {
    return this.#permits - this.#free;
  }

  /** Number of requests that wait for a permit. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Runs the work as soon as a permit is free, and releases the permit when the work has ended.
   *
   * @param group - the group that the work counts for, such as a namespace. Default: none, which may take any permit
   * @throws `signal.reason` when aborted before the work begins; else what the work throws
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal, group?: string): Promise<T> {
    signal.throwIfAborted();
    // A free permit starts the work in the caller's own turn.
    using _permit = this.tryAcquire(group) ?? (await this.acquire(signal, group));
    return await work();
  }

  /**
   * Waits for a permit.
   *
   * @param group - as in {@link run}
   * @returns the permit; disposing of it releases it, disposing of it again does nothing
   * @throws `signal.reason` when aborted before the permit is granted
   */
  async acquire(signal: AbortSignal, group?: string): Promise<Disposable> {
    signal.throwIfAborted();
    const free = this.tryAcquire(group);
    if (free) return free;
    await this.#wait(signal, group);
    const permit = this.#permit(group);
    if (!signal.aborted) return permit;
    permit[Symbol.dispose]();
    throw signal.reason;
  }

  /**
   * Takes a permit without waiting.
   *
   * @param group - as in {@link run}
   * @returns the permit, as from {@link acquire}; `undefined` when none is free
   */
  tryAcquire(group?: string): Disposable | undefined {
    if (!this.#hasPermitFor(group)) return undefined;
    this.#take(group);
    return this.#permit(group);
  }

  #permit(group: string | undefined): Disposable {
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#release(group);
        isHeld = false;
      },
    };
  }

  #hasPermitFor(group: string | undefined): boolean {
    const mayTakeReserved = group === undefined || this.#heldBy(group) < this.#perGroup;
    return this.#free > (mayTakeReserved ? 0 : this.#reserved);
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
    // A release can admit two: one with the permit, and one of this group, which may take from the last quarter again.
    for (const waiting of this.#waiting) {
      if (this.#free <= 0) return;
      if (!this.#hasPermitFor(waiting.group)) continue;
      this.#waiting.delete(waiting);
      this.#take(waiting.group);
      waiting.grant();
    }
  }

  #heldBy(group: string): number {
    return this.#held.get(group) ?? 0;
  }

  /** Resolves once a permit has been taken for the caller. */
  async #wait(signal: AbortSignal, group: string | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { group, grant: resolve };
    const onAbort = (): void => {
      // After the grant only the continuation is outstanding, and acquire() looks at the signal.
      if (this.#waiting.delete(waiting)) reject(signal.reason);
    };
    this.#waiting.add(waiting);
    signal.addEventListener("abort", onAbort, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", onAbort));
  }
}
