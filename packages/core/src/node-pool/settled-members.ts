export interface SettledMembersOptions {
  /** Time in milliseconds for which the members must have stayed the same. */
  readonly settleMs: number;
  /** Maximum time in milliseconds from a change until it counts, while further changes come. */
  readonly maxSettleMs: number;
}

/** The members of a group, as soon as they have not changed for a moment: instances that start together then move few nodes. */
export class SettledMembers {
  readonly #options: SettledMembersOptions;
  #current: readonly string[] | undefined;
  #candidate: readonly string[] = [];
  /** Monotonic times since which the candidate is the same, and since which it differs from the current members. */
  #sameSinceMs = 0;
  #differsSinceMs: number | undefined;

  constructor(options: SettledMembersOptions) {
    this.#options = options;
  }

  /** Sorted identities; `undefined` before the first members have settled. */
  get current(): readonly string[] | undefined {
    return this.#current;
  }

  /**
   * Notes the members at a moment.
   *
   * @param members - sorted
   * @param nowMs - monotonic time
   * @returns whether {@link current} changed
   */
  observe(members: readonly string[], nowMs: number): boolean {
    if (this.#current && isSame(members, this.#current)) {
      this.#differsSinceMs = undefined;
      return false;
    }
    if (this.#differsSinceMs === undefined || !isSame(members, this.#candidate)) this.#sameSinceMs = nowMs;
    this.#candidate = members;
    this.#differsSinceMs ??= nowMs;
    const { settleMs, maxSettleMs } = this.#options;
    if (nowMs - this.#sameSinceMs < settleMs && nowMs - this.#differsSinceMs < maxSettleMs) return false;
    this.#current = members;
    this.#differsSinceMs = undefined;
    return true;
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}
