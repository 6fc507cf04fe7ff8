/** Work that waits for its turn. */
interface Waiting {
  readonly group: string | undefined;
  readonly begin: () => void;
}

/**
 * Lets only so many work at once; the others wait their turn, in the order they came. A group has three quarters of the places at most, so that one
 * whose work never ends does not stop the others.
 */
export class Turnstile {
  readonly #waiting: Waiting[] = [];
  readonly #working = new Map<string, number>();
  readonly #maxOfGroup: number;
  #free: number;

  /** @param places - how many may work at once */
  constructor(places: number) {
    this.#free = places;
    this.#maxOfGroup = Math.ceil((places * 3) / 4);
  }

  /**
   * Works when it is its turn.
   *
   * @param group - whose work it is, such as a namespace's. Default: no group's, which may have all places
   * @throws `signal.reason` when aborted before; else what the work throws
   */
  async pass<T>(work: () => Promise<T>, signal: AbortSignal, group?: string): Promise<T> {
    if (this.#hasPlaceFor(group)) this.#take(group);
    else await this.#turn(signal, group);
    try {
      return await work();
    } finally {
      this.#leave(group);
    }
  }

  /**
   * Takes a place now, without waiting.
   *
   * @param group - as in {@link pass}
   * @returns frees the place, once; `undefined` when there is none
   */
  tryTake(group?: string): (() => void) | undefined {
    if (!this.#hasPlaceFor(group)) return undefined;
    this.#take(group);
    let isTaken = true;
    return () => {
      if (isTaken) this.#leave(group);
      isTaken = false;
    };
  }

  #hasPlaceFor(group: string | undefined): boolean {
    return this.#free > 0 && (group === undefined || this.#workingOf(group) < this.#maxOfGroup);
  }

  #take(group: string | undefined): void {
    this.#free--;
    if (group !== undefined) this.#working.set(group, this.#workingOf(group) + 1);
  }

  #leave(group: string | undefined): void {
    this.#free++;
    if (group !== undefined) {
      const left = this.#workingOf(group) - 1;
      if (left > 0) this.#working.set(group, left);
      else this.#working.delete(group);
    }
    const index = this.#waiting.findIndex((each) => this.#hasPlaceFor(each.group));
    const [next] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (!next) return;
    this.#take(next.group);
    next.begin();
  }

  #workingOf(group: string): number {
    return this.#working.get(group) ?? 0;
  }

  async #turn(signal: AbortSignal, group: string | undefined): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { group, begin: resolve };
    const onAbort = (): void => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      reject(signal.reason);
    };
    this.#waiting.push(waiting);
    signal.addEventListener("abort", onAbort, { once: true });
    // Once it is its turn it is in the queue no more.
    await promise.finally(() => signal.removeEventListener("abort", onAbort));
  }
}
