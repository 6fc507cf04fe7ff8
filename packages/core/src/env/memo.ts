import { SingleFlight } from "@virtual-kubelet/async";

/**
 * Values by key, each loaded once: who asks while it is being loaded waits for the same load. The load is aborted when
 * nobody waits for it any more. What failed is loaded again the next time.
 */
export class Memo<T> {
  readonly #values = new Map<string, { readonly value: T }>();
  readonly #loads = new SingleFlight<T>();

  /** The value of the key. @throws what `load` throws, and `signal.reason` when aborted */
  async get(key: string, load: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const known = this.#values.get(key);
    if (known) return known.value;
    return this.#loads.run(
      key,
      async (inner) => {
        const value = await load(inner);
        this.#values.set(key, { value });
        return value;
      },
      signal,
    );
  }
}
