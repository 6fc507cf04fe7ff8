import { isConflict } from "@virtual-kubelet/errdefs";
import { statusOf } from "@virtual-kubelet/kube-client";

/**
 * Whether the API server refused a patch because the object of that name is not, or no longer, the intended
 * one. It answers with 422 on `metadata.uid` (seen on 1.36.3), or with 409 if it treats UID or version as a
 * precondition.
 */
export function isOtherObject(error: unknown): boolean {
  return isConflict(error) || (statusOf(error)?.details?.causes?.some(({ field }) => field === "metadata.uid") ?? false);
}
