/** What one caller takes of a {@link SharedBudget}. */
export interface BudgetShare {
  /** Whether the caller holds more than is left free. */
  readonly isOver: boolean;
  /** Takes so much, unless the caller would hold more than is left free then. @returns whether it was taken */
  tryTake(amount: number): boolean;
  /** Takes so much in any case, or gives it back where it is negative. */
  add(amount: number): void;
}

/**
 * Something a process has only so much of. A caller may hold as much as is left free: one alone gets half, two a third each,
 * and the next one always finds room, without anything being taken away from those who hold it.
 *
 * Source: Choudhury and Hahne, dynamic queue length thresholds, with a factor of 1.
 */
export class SharedBudget {
  readonly #max: number;
  readonly #held = new Map<string, number>();
  #used = 0;

  /** @param max - how much there is for all callers together */
  constructor(max: number) {
    this.#max = max;
  }

  /** How much is taken. */
  get used(): number {
    return this.#used;
  }

  /** The share of a caller. Two shares of one name are one. */
  share(caller: string): BudgetShare {
    const held = (): number => this.#held.get(caller) ?? 0;
    const fits = (amount: number): boolean => held() + amount <= this.#max - this.#used - amount;
    const add = (amount: number): void => {
      const now = held() + amount;
      this.#used += amount;
      if (now === 0) this.#held.delete(caller);
      else this.#held.set(caller, now);
    };
    return {
      get isOver() {
        return !fits(0);
      },
      tryTake: (amount) => {
        const taken = fits(amount);
        if (taken) add(amount);
        return taken;
      },
      add,
    };
  }
}
