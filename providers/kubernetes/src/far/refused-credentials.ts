import { messageOf, UnauthorizedError } from "@virtual-kubelet/errdefs";

/** Returns the error for a 401 of the far cluster, with the setting and the remedy. */
export function refusedCredentials(error: unknown): UnauthorizedError {
  return new UnauthorizedError(
    `the far cluster refuses the credentials in cluster.kubeconfig, as it does when a token has expired: write new ones there, and restart the program if the token itself is in the kubeconfig (${messageOf(error)})`,
    { cause: error },
  );
}
