/** What is called when one signal aborts. */
class Callbacks {
  readonly #signal: AbortSignal;
  readonly #callbacks = new Set<() => void>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(callback: () => void): void {
    if (this.#callbacks.size === 0) this.#signal.addEventListener("abort", this, { once: true });
    this.#callbacks.add(callback);
  }

  delete(callback: () => void): void {
    // A listener that stays would keep a signal that is composed of others in memory.
    if (this.#callbacks.delete(callback) && this.#callbacks.size === 0) this.#signal.removeEventListener("abort", this);
  }

  handleEvent(): void {
    for (const callback of this.#callbacks) {
      this.#callbacks.delete(callback);
      callback();
    }
  }
}

const callbacksOf = new WeakMap<AbortSignal, Callbacks>();

/**
 * Calls back once when the signal aborts, like a listener; never if it has aborted already. All callbacks of a signal share one listener, because
 * Node.js compares each listener that is added or removed with all others, which takes long if there are thousands.
 *
 * @param callback - must not throw, as the others would not be called
 */
export function addAbortCallback(signal: AbortSignal, callback: () => void): void {
  let callbacks = callbacksOf.get(signal);
  if (!callbacks) callbacksOf.set(signal, (callbacks = new Callbacks(signal)));
  callbacks.add(callback);
}

/** Does not call back any more. */
export function removeAbortCallback(signal: AbortSignal, callback: () => void): void {
  callbacksOf.get(signal)?.delete(callback);
}
