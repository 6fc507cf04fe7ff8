import { messageOf } from "@virtual-kubelet/errdefs";
import { withCodeOf } from "./collect-all.ts";

/** Waiting reason of containers that wait for their volumes. */
export const mountWaitingReason = "ContainerCreating";

/** Reason of the event about the cause. */
export const mountEventReason = "FailedMount";

/**
 * Returns a volume's error with a kubelet's wording and a waiting reason: the pod's
 * containers wait as `ContainerCreating`, and an event says why.
 * Source: GenerateError in kubernetes v1.36.3 pkg/volume/util/operationexecutor/operation_executor.go.
 */
export function mountError(volumeName: string, cause: unknown): Error {
  return waitingForVolumes(withCodeOf(cause, `MountVolume.SetUp failed for volume "${volumeName}" : ${messageOf(cause)}`));
}

/** Adds the waiting reason of containers that wait for their volumes to the error. */
export function waitingForVolumes(error: Error): Error {
  return Object.assign(error, { waitingReason: mountWaitingReason });
}
