import { WriteWaits } from "../../rest/steps.ts";

/**
 * Makes a write and reports its success, also if it goes on without the caller. For writes that the caller does not make again once they
 * have succeeded; the caller gets the error of a failed one when it makes it again.
 *
 * @throws WriteWaits or the error of the write
 */
export function writeAndTell<Result>(write: () => Result, succeeded: (result: Result) => void): Result {
  try {
    const result = write();
    succeeded(result);
    return result;
  } catch (error) {
    if (error instanceof WriteWaits)
      void error.settled.then(
        (result) => succeeded((isStored(result) ? result.object : result) as Result),
        () => undefined,
      );
    throw error;
  }
}

/** A creation settles with the stored object. */
function isStored(result: unknown): result is { readonly object: unknown } {
  return typeof result === "object" && result !== null && "object" in result;
}
