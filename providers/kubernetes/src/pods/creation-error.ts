import {
  InvalidInputError,
  isForbidden,
  isInvalidInput,
  isNotFound,
  messageOf,
  QuotaExceededError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import { statusOf } from "@virtual-kubelet/kube-client";

/**
 * Returns the error of a creation in the far cluster as the home pod shows it: an exceeded quota and a missing namespace leave the pod
 * Pending until they are mended, and an invalid pod leaves it Pending until it is changed. The far cluster's words are kept.
 *
 * @param namespace - of the far cluster
 */
export function creationError(error: unknown, namespace: string): unknown {
  const status = statusOf(error);
  const words = status?.message ?? messageOf(error);
  if (isNotFound(error) && status?.details?.kind === "namespaces")
    return new UnavailableError(
      `the far namespace ${namespace} does not exist; create it, or set namespaces.create with namespaces.mode same or prefix`,
      { cause: error },
    );
  // Source: apiserver plugin/pkg/admission/resourcequota, `exceeded quota: `.
  if (isForbidden(error) && words.includes("exceeded quota: ")) return new QuotaExceededError(`far cluster: ${words}`, { cause: error });
  if (isInvalidInput(error) && status) return new InvalidInputError(`far cluster: ${words}`, { cause: error });
  return error;
}
