interface Pausable {
  pause(): unknown;
  resume(): unknown;
}

/** Pauses a socket as long as there is at least one reason to. */
export class ReadGate<Reason> {
  readonly #source: Pausable;
  readonly #reasons = new Set<Reason>();

  constructor(source: Pausable) {
    this.#source = source;
  }

  /** Whether there is any reason. */
  get held(): boolean {
    return this.#reasons.size > 0;
  }

  isHeldFor(reason: Reason): boolean {
    return this.#reasons.has(reason);
  }

  /** Adds a reason. */
  hold(reason: Reason): void {
    this.#reasons.add(reason);
    this.#source.pause();
  }

  /** Removes a reason. Reading resumes with the last one. */
  release(reason: Reason): void {
    if (this.#reasons.delete(reason) && this.#reasons.size === 0) this.#source.resume();
  }

  /** Removes all reasons. */
  open(): void {
    this.#reasons.clear();
    this.#source.resume();
  }
}
