/** What can be kept from being read. */
interface Pausable {
  pause(): unknown;
  resume(): unknown;
}

/** Keeps a socket from being read as long as there is at least one reason to. */
export class ReadGate<Reason> {
  readonly #source: Pausable;
  readonly #reasons = new Set<Reason>();

  constructor(source: Pausable) {
    this.#source = source;
  }

  /** Whether there is a reason. */
  get held(): boolean {
    return this.#reasons.size > 0;
  }

  /** Whether this is one of the reasons. */
  isHeldFor(reason: Reason): boolean {
    return this.#reasons.has(reason);
  }

  /** Adds a reason. */
  hold(reason: Reason): void {
    this.#reasons.add(reason);
    this.#source.pause();
  }

  /** Takes a reason away; with the last one reading goes on. */
  release(reason: Reason): void {
    if (this.#reasons.delete(reason) && this.#reasons.size === 0) this.#source.resume();
  }

  /** Takes all reasons away. */
  open(): void {
    this.#reasons.clear();
    this.#source.resume();
  }
}
