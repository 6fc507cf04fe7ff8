/** What several iterations give, as it comes. Ending it ends all of them. @throws what the first of them throws */
export async function* merge<T>(sources: readonly AsyncGenerator<T, void, undefined>[]): AsyncGenerator<T, void, undefined> {
  const pending = new Map(sources.map((source) => [source, next(source)]));
  try {
    while (pending.size > 0) {
      const { source, result } = await Promise.race(pending.values());
      if (result.done) pending.delete(source);
      else {
        yield result.value;
        pending.set(source, next(source));
      }
    }
  } finally {
    for (const [source, promise] of pending) {
      // One that waits for its source ends when that does.
      promise.catch(() => {});
      void source.return().catch(() => {});
    }
  }
}

interface Next<T> {
  readonly source: AsyncGenerator<T, void, undefined>;
  readonly result: IteratorResult<T, void>;
}

async function next<T>(source: AsyncGenerator<T, void, undefined>): Promise<Next<T>> {
  return { source, result: await source.next() };
}

/** What several iterations give, each of them in the order of its times, in the order of all their times. Ending it ends all of them. */
export async function* mergeByTime<T extends { readonly timeMs: number }>(
  sources: readonly AsyncGenerator<T, void, undefined>[],
): AsyncGenerator<T, void, undefined> {
  try {
    const heads = await Promise.all(sources.map(next));
    for (;;) {
      const open = heads.filter((head): head is Next<T> & { readonly result: IteratorYieldResult<T> } => !head.result.done);
      const [first] = open.toSorted((a, b) => a.result.value.timeMs - b.result.value.timeMs);
      if (!first) return;
      yield first.result.value;
      heads[heads.indexOf(first)] = await next(first.source);
    }
  } finally {
    await Promise.allSettled(sources.map((source) => source.return()));
  }
}
