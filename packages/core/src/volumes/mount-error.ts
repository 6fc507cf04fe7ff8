import { messageOf } from "@virtual-kubelet/errdefs";
import { withCodeOf } from "./collect-all.ts";

/** The reason of containers that wait for their volumes. */
export const mountWaitingReason = "ContainerCreating";

/** The reason of the event that tells why. */
export const mountEventReason = "FailedMount";

/**
 * What a volume's content could not be put together for, in a kubelet's words. It carries a waiting reason: the pod's
 * containers wait as `ContainerCreating`, and an event says why.
 * Source: GenerateError in kubernetes v1.36.3 pkg/volume/util/operationexecutor/operation_executor.go.
 */
export function mountError(volumeName: string, cause: unknown): Error {
  return waitingForVolumes(withCodeOf(cause, `MountVolume.SetUp failed for volume "${volumeName}" : ${messageOf(cause)}`));
}

/** The error, with the reason of containers that wait for their volumes. */
export function waitingForVolumes(error: Error): Error {
  return Object.assign(error, { waitingReason: mountWaitingReason });
}
