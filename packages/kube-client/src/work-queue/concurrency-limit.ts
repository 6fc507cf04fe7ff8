/** Limits how many keys work queues process at once, between all that share it. Queues that wait for a place take turns, one key each. */
export class ConcurrencyLimit {
  /** Called when a place is free; nobody waits while one is. */
  readonly #waiting = new Set<() => void>();
  #free: number;

  /**
   * @param places - maximum number of keys processed at once, 1 or more
   * @throws RangeError if it is less, because no key would ever be processed
   */
  constructor(places: number) {
    if (!(places >= 1)) throw new RangeError(`a limit of ${places} keys at once: expected 1 or more`);
    this.#free = places;
  }

  /**
   * Takes a place.
   *
   * @param onFree - called once a place is free, if none is now; then it may take one. A function that waits already keeps its turn
   * @returns whether a place was taken
   */
  take(onFree: () => void): boolean {
    if (this.#free > 0) {
      this.#free--;
      return true;
    }
    this.#waiting.add(onFree);
    return false;
  }

  /** Gives a place back that was taken, to the one that has waited longest and still wants it. */
  release(): void {
    this.#free++;
    for (const onFree of this.#waiting) {
      if (this.#free <= 0) return;
      this.#waiting.delete(onFree);
      onFree();
    }
  }

  /** Ends the wait of a function that was passed to {@link take}. */
  cancel(onFree: () => void): void {
    this.#waiting.delete(onFree);
  }
}
