import { SingleFlight } from "@virtual-kubelet/async";

/**
 * Values by key, each loaded once: concurrent callers wait for the same load. The load is aborted when
 * nobody waits for it any more. A failed load is repeated at the next call.
 */
export class Memo<T> {
  // Each pod has several, and most load nothing.
  #values: Map<string, { readonly value: T }> | undefined;
  #loads: SingleFlight<T> | undefined;

  /** Returns the value of the key. @throws the error of `load`, and `signal.reason` when aborted */
  async get(key: string, load: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const values = (this.#values ??= new Map());
    const known = values.get(key);
    if (known) return known.value;
    return (this.#loads ??= new SingleFlight()).run(
      key,
      async (inner) => {
        const value = await load(inner);
        values.set(key, { value });
        return value;
      },
      signal,
    );
  }
}
