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

/** A write that has finished without its caller. */
interface FinishedWrite {
  readonly what: string;
  readonly outcome: { readonly result: unknown } | { readonly error: unknown };
}

/** A write of one of the server's own controllers has to wait, for example for an admission webhook. It goes on without the caller. */
export class WriteWaits extends Error {
  /** The write, such as `create pods default/web`. */
  readonly what: string;
  /** Settled when the write is finished, with its error if it fails. */
  readonly settled: Promise<unknown>;
  /** Runs the caller again with the outcomes of its writes. */
  readonly replay: StepRunner["replay"];

  constructor(what: string, settled: Promise<unknown>, replay: StepRunner["replay"]) {
    super(`${what}: waiting for admission; the write goes on, and the caller is to try again afterwards`);
    this.name = "WriteWaits";
    this.what = what;
    this.settled = settled;
    this.replay = replay;
  }
}

/** Runs writes for callers that cannot wait. */
export class StepRunner {
  #finished: FinishedWrite[] = [];

  /**
   * Runs the steps of a write.
   *
   * @param what - identifies the write, also in a later attempt of the same caller
   * @throws WriteWaits if the steps have to wait; they go on without the caller
   */
  runNow<Result>(steps: Steps<Result>, what: () => string): Result {
    const known = this.#finished.length === 0 ? undefined : this.#take(what());
    if (known !== undefined) {
      if ("error" in known) throw known.error;
      return known.result as Result;
    }
    const { done, value } = steps.next();
    if (done === true) return value;
    const settled = finish(steps, value);
    // The caller may not look at it.
    settled.catch(() => undefined);
    throw new WriteWaits(what(), settled, this.replay);
  }

  /** Runs a caller again. Each finished write that it repeats returns or throws its outcome once, instead of being made again. */
  readonly replay = <Result>(finished: readonly FinishedWrite[], run: () => Result): Result => {
    this.#finished = [...finished];
    try {
      return run();
    } finally {
      this.#finished = [];
    }
  };

  #take(what: string): FinishedWrite["outcome"] | undefined {
    const index = this.#finished.findIndex((write) => write.what === what);
    return index < 0 ? undefined : this.#finished.splice(index, 1)[0]?.outcome;
  }
}

/**
 * Runs work whose writes may have to wait. When a write has finished, the work runs again from its beginning and gets the outcomes of the
 * writes that have finished, as if it had waited.
 *
 * @param run - makes the same writes again if nothing else has changed. A created object whose name was generated is not replayed, because
 *   the work finds it among the stored objects
 * @returns `undefined` if nothing had to wait, otherwise a promise that settles with the last run
 * @throws the error of a run that did not have to wait
 */
export function runResumably(run: () => void): Promise<void> | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (!(error instanceof WriteWaits)) throw error;
    return resume(error, run);
  }
}

async function resume(first: WriteWaits, run: () => void): Promise<void> {
  const finished: FinishedWrite[] = [];
  let waits = first;
  for (;;) {
    const { what, settled, replay } = waits;
    const outcome = await settled.then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    );
    if ("error" in outcome || !isGenerated(what)) finished.push({ what, outcome });
    try {
      return replay(finished, run);
    } catch (error) {
      if (!(error instanceof WriteWaits)) throw error;
      waits = error;
    }
  }
}

/** End of the description of a creation with a generated name. */
export const generatedMark = "*";

function isGenerated(what: string): boolean {
  return what.endsWith(generatedMark);
}
