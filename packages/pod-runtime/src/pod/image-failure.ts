import type { PodRuntimeReason } from "../reasons.ts";

/**
 * Event about an image that could not be made available. Source: EnsureImageExists in kubernetes v1.36.3
 * pkg/kubelet/images/image_manager.go.
 *
 * @param why - the waiting reason and message of the container
 */
export function imageFailureEvent(
  image: string,
  { reason, message }: { readonly reason: string; readonly message: string },
): { readonly reason: PodRuntimeReason; readonly message: string } {
  if (reason === "ErrImagePull") return { reason: "Failed", message: `Failed to pull image "${image}": ${message}` };
  return { reason: reason === "ErrImageNeverPull" ? reason : "InspectFailed", message };
}
