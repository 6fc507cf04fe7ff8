import type { TerminalSize } from "@virtual-kubelet/core";

/**
 * Tells the sizes, one after another. A failure to tell one is nobody's concern: the terminal may be gone.
 *
 * @returns what stops it
 */
export function followSizes(resizes: AsyncIterable<TerminalSize>, tell: (size: TerminalSize) => Promise<void>): Disposable {
  const sizes = resizes[Symbol.asyncIterator]();
  let isOver = false;
  const read = async (): Promise<void> => {
    for (let next = await sizes.next(); !next.done && !isOver; next = await sizes.next()) await tell(next.value).catch(() => undefined);
  };
  read().catch(() => undefined);
  return {
    [Symbol.dispose]() {
      isOver = true;
      sizes.return?.().catch(() => undefined);
    },
  };
}
