import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";

/** Returns the error for a 404 that the far API server itself did not give, such as a proxy's, which says nothing about an object. */
export function notTheFarCluster(error: unknown): UnavailableError {
  return new UnavailableError(`the far API server did not answer, but something in its place: ${messageOf(error)}`, { cause: error });
}
