/**
 * A computation that may have to wait, for example for an admission webhook: it yields each promise that it waits for. Without one it runs
 * to its end synchronously, so that a write of an ordinary request is not interrupted by others.
 */
export type Steps<Result> = Generator<Promise<void>, Result, void>;

/**
 * Runs steps to their end.
 *
 * @returns the result, or a promise of it if the steps had to wait. An error of what they wait for is thrown inside the steps
 */
export function runSteps<Result>(steps: Steps<Result>): Result | Promise<Result> {
  const { done, value } = steps.next();
  return done === true ? value : finish(steps, value);
}

async function finish<Result>(steps: Steps<Result>, first: Promise<void>): Promise<Result> {
  let waiting = first;
  for (;;) {
    const { done, value } = await waiting.then(
      () => steps.next(),
      (error: unknown) => steps.throw(error),
    );
    if (done === true) return value;
    waiting = value;
  }
}

/** A write of one of the server's own controllers has to wait, for example for an admission webhook. It goes on without the caller. */
export class WriteWaits extends Error {
  /** Settled when the write is finished, with its error if it fails. */
  readonly settled: Promise<unknown>;

  /** @param what - the write, such as `create pods web` */
  constructor(what: string, settled: Promise<unknown>) {
    super(`${what}: waiting for admission; the write goes on, and the caller is to try again afterwards`);
    this.name = "WriteWaits";
    this.settled = settled;
  }
}

/**
 * Runs the steps of a write for a caller that cannot wait.
 *
 * @param what - the write, for the error
 * @throws WriteWaits if the steps have to wait; they go on without the caller
 */
export function runNow<Result>(steps: Steps<Result>, what: () => string): Result {
  const { done, value } = steps.next();
  if (done === true) return value;
  const settled = finish(steps, value);
  // The caller may not look at it.
  settled.catch(() => undefined);
  throw new WriteWaits(what(), settled);
}
