/** Something that has been begun; over when it is disposed. */
export interface Begun extends Disposable {
  /** Aborted when it is given up, or all ends. */
  readonly signal: AbortSignal;
  /** Gives it up. */
  giveUp(reason: Error): void;
}

/** What is under way and can be given up, by name. Of two of one name the later one is meant. */
export class UnderWay {
  readonly #all: AbortSignal;
  readonly #running = new Map<string, AbortController>();

  /** @param all - ends everything */
  constructor(all: AbortSignal) {
    this.#all = all;
  }

  begin(name: string): Begun {
    const controller = new AbortController();
    this.#running.set(name, controller);
    return {
      signal: AbortSignal.any([this.#all, controller.signal]),
      giveUp: (reason) => controller.abort(reason),
      [Symbol.dispose]: () => {
        if (this.#running.get(name) === controller) this.#running.delete(name);
      },
    };
  }

  /** Gives up what has that name, if anything has. */
  giveUp(name: string, reason: Error): void {
    this.#running.get(name)?.abort(reason);
  }

  /** Gives up all but what is wanted. */
  giveUpUnless(isWanted: (name: string) => boolean, reason: Error): void {
    for (const [name, controller] of this.#running) if (!isWanted(name)) controller.abort(reason);
  }
}
