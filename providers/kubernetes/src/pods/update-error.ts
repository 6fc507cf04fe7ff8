import { InvalidInputError, isInvalidInput, isNotFound, UnsupportedError } from "@virtual-kubelet/errdefs";
import { isGoneObject, resources, statusOf } from "@virtual-kubelet/kube-client";
import { notTheFarCluster } from "../far/not-the-far-cluster.ts";
import type { FarPodPatch } from "../translate/far-changes.ts";

/**
 * Returns the error of a patch of a far pod as the home pod shows it. A resize that the far cluster refuses, or that it cannot do, is
 * Infeasible. A 404 is one of the pod only if the far API server says so.
 */
export function updateError(error: unknown, podName: string, subresource: FarPodPatch["subresource"]): unknown {
  const words = statusOf(error)?.message;
  if (isInvalidInput(error) && words !== undefined) return new InvalidInputError(`far cluster: ${words}`, { cause: error });
  if (!isNotFound(error) || isGoneObject(error, resources.pods, podName)) return error;
  if (subresource === "resize" && statusOf(error)?.reason === "NotFound")
    return new UnsupportedError("the far cluster cannot resize pods, which it can from Kubernetes 1.33 on; create the pod again", {
      cause: error,
    });
  return notTheFarCluster(error);
}
