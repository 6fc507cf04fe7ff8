/** Share of one caller in a {@link SharedBudget}. */
export interface BudgetShare {
  /** Whether the caller holds more than is left free. */
  readonly isOver: boolean;
  /** Takes an amount unless the caller would then hold more than is left free. @returns whether it was taken */
  tryTake(amount: number): boolean;
  /** Takes an amount unconditionally; a negative amount is given back. */
  add(amount: number): void;
}

/**
 * Divides a limited resource among callers. A caller may hold as much as is left free: a single one gets half, two get a third each, and
 * there is always room for another one without taking anything away.
 *
 * Source: Choudhury and Hahne, dynamic queue length thresholds, with a factor of 1.
 */
export class SharedBudget {
  readonly #max: number;
  readonly #held = new Map<string, number>();
  #used = 0;

  /** @param max - total amount for all callers */
  constructor(max: number) {
    this.#max = max;
  }

  /** What all shares together hold. */
  get used(): number {
    return this.#used;
  }

  /** Returns the share of a caller. Shares with the same name are one. */
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
