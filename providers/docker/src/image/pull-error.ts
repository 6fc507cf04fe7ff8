import { ForbiddenError, InvalidInputError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { engineMessageOf, engineStatusOf } from "../engine/engine-error.ts";

/** A failure that the engine reported during a pull, after a 200. */
export class PullFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = "PullFailure";
  }
}

/**
 * Converts the error of a failed pull to one with a code. Engines answer 404 or 500, or report after a 200, for the same causes, so the
 * messages decide. Other errors, such as those of an engine that does not answer, are returned unchanged.
 */
export function toPullError(image: string, error: unknown): unknown {
  const said = error instanceof PullFailure ? error.message : engineMessageOf(error);
  if (said === undefined) return error;
  const message = `pull image "${image}": ${said}`;
  const options = { cause: error };
  if (engineStatusOf(error) === 400 || /invalid reference format/i.test(said)) return new InvalidInputError(message, options);
  if (/toomanyrequests|too many requests|rate limit/i.test(said)) return new UnavailableError(message, options);
  if (/unauthorized|authentication required|no basic auth|denied|forbidden|incorrect username/i.test(said))
    return new ForbiddenError(message, options);
  if (/manifest unknown|name unknown|not found|no such image|no matching manifest|does not exist/i.test(said))
    return new NotFoundError(message, options);
  return new UnavailableError(message, options);
}
