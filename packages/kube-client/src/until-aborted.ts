/**
 * What the work comes to, waited for no longer than the signal lets. The work itself goes on, for others or by itself;
 * then nobody hears of its failure.
 *
 * @throws `signal.reason` as soon as it aborts; else what the work throws
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // Whoever loses the race must not become an unhandled rejection.
  work.catch(() => {});
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
