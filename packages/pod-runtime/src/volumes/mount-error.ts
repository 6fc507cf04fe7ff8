import { isUnsupported, messageOf } from "@virtual-kubelet/errdefs";

/** The reason of containers that wait for their pod's volumes. */
export const waitingReason = "ContainerCreating";

/** The reason of the event that tells why a volume is not there. */
export const mountEventReason = "FailedMount";

/**
 * Why a volume is not there, in a kubelet's words; its code is its cause's. The pod's containers wait as `ContainerCreating`.
 * What is not supported stays as it is: it names its field.
 * Source: GenerateError in kubernetes v1.36.3 pkg/volume/util/operationexecutor/operation_executor.go.
 */
export function mountError(volume: string, cause: unknown): unknown {
  if (isUnsupported(cause)) return cause;
  const error = new Error(`MountVolume.SetUp failed for volume "${volume}" : ${messageOf(cause)}`, { cause });
  return Object.assign(error, { waitingReason });
}
