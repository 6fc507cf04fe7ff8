/** A call that has started. Dispose it when the call has ended. */
export interface CallInProgress extends Disposable {
  /** Aborted when the call is aborted, or all calls are. */
  readonly signal: AbortSignal;
  abort(reason: Error): void;
}

/** Calls in progress, which can be aborted by name. If two calls have the same name, the name refers to the later one. */
export class CallsInProgress {
  readonly #all: AbortSignal;
  readonly #running = new Map<string, AbortController>();

  /** @param all - aborts every call */
  constructor(all: AbortSignal) {
    this.#all = all;
  }

  begin(name: string): CallInProgress {
    const controller = new AbortController();
    this.#running.set(name, controller);
    return {
      signal: AbortSignal.any([this.#all, controller.signal]),
      abort: (reason) => controller.abort(reason),
      [Symbol.dispose]: () => {
        if (this.#running.get(name) === controller) this.#running.delete(name);
      },
    };
  }

  /** Aborts the call of that name, if there is one. */
  abort(name: string, reason: Error): void {
    this.#running.get(name)?.abort(reason);
  }

  /** Aborts every call whose name is not wanted. */
  abortUnless(isWanted: (name: string) => boolean, reason: Error): void {
    for (const [name, controller] of this.#running) if (!isWanted(name)) controller.abort(reason);
  }
}
