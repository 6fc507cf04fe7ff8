/** What {@link runSideBySide} looks at to choose what comes next. */
export interface Work {
  readonly kind: "compute" | "wait";
}

/**
 * Runs pieces of work, two at a time: the first that computes beside the first that waits, in the order of the list. When
 * one kind is used up, two of the other run side by side.
 *
 * @returns the results in the order of the list
 * @throws what `run` throws; the work under way is then not waited for
 */
export async function runSideBySide<W extends Work, R>(list: readonly W[], run: (work: W) => Promise<R>): Promise<R[]> {
  const waiting = [...list];
  const results = new Map<W, R>();
  const worker = async (preferred: Work["kind"]): Promise<void> => {
    for (;;) {
      const next = waiting.find(({ kind }) => kind === preferred) ?? waiting[0];
      if (next === undefined) return;
      waiting.splice(waiting.indexOf(next), 1);
      results.set(next, await run(next));
    }
  };
  await Promise.all([worker("compute"), worker("wait")]);
  return list.flatMap((work) => (results.has(work) ? [results.get(work) as R] : []));
}
