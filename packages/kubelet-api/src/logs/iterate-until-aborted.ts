/** Iterates until aborted, even if the source ignores the signal. The source's iteration is always ended. @throws `signal.reason` */
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
    // Not awaited, because it does not settle while a pending next() does not.
    iterator.return?.().then(undefined, () => {});
  }
}
