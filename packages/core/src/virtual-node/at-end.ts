/** Runs work at the end of the block that declares the result with `await using`. */
export function atEnd(work: () => Promise<void>): AsyncDisposable {
  return { [Symbol.asyncDispose]: work };
}
