/**
 * Iterates until aborted, without waiting for a source that does not heed the signal itself. However it ends, the
 * source's iteration is ended as well.
 *
 * @throws `signal.reason`
 */
export async function* iterateUntilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  signal.throwIfAborted();
  const iterator = source[Symbol.asyncIterator]();
  let giveUp: (reason: unknown) => void = () => {};
  const onAbort = (): void => giveUp(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    while (true) {
      const result = await new Promise<IteratorResult<T, unknown>>((resolve, reject) => {
        giveUp = reject;
        iterator.next().then(resolve, reject);
      });
      if (result.done === true) return;
      yield result.value;
      signal.throwIfAborted();
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    // Not awaited: behind a next() that never settles, it would not settle either.
    iterator.return?.().then(undefined, () => {});
  }
}
