/** Maximum number of ids that are remembered as those of no pod, so that memory stays bounded. */
const maxStrangers = 10_000;

/** Ids of unknown objects that a back end reports. A list tells whether they are pods; ids that are none are remembered. */
export class ReportedIds {
  #waiting = new Set<string>();
  readonly #strangers = new Set<string>();

  /** Whether ids wait for a list. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Adds an id that waits for a list. @returns whether it does: `false` if it is remembered as that of no pod */
  add(id: string): boolean {
    if (this.#strangers.has(id)) return false;
    this.#waiting.add(id);
    return true;
  }

  /** Takes the ids that wait, at the start of a list. */
  take(): readonly string[] {
    const taken = [...this.#waiting];
    this.#waiting = new Set();
    return taken;
  }

  /** Remembers ids that are no pods'. */
  remember(ids: readonly string[]): void {
    for (const id of ids) {
      this.#strangers.add(id);
      const [oldest] = this.#strangers;
      if (this.#strangers.size > maxStrangers && oldest !== undefined) this.#strangers.delete(oldest);
    }
  }
}
