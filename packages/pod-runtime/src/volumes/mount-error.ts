import { isUnsupported, messageOf } from "@virtual-kubelet/errdefs";

/** The reason of containers that wait for their pod's volumes. */
export const waitingReason = "ContainerCreating";

/** The reason of the event that tells why a volume is not there. */
export const mountEventReason = "FailedMount";

/** Why a volume is not there, where another step than setting it up has failed. */
export class MountStepError extends Error {
  /** In a kubelet's words, such as `MountVolume.NewMounter initialization failed`. */
  readonly step: string;

  constructor(step: string, message: string) {
    super(message);
    this.step = step;
  }
}

/**
 * Why a volume is not there, in a kubelet's words; its code is its cause's. The pod's containers wait as `ContainerCreating`.
 * What is not supported stays as it is: it names its field.
 * Source: GenerateError in kubernetes v1.36.3 pkg/volume/util/operationexecutor/operation_executor.go.
 */
export function mountError(volume: string, cause: unknown): unknown {
  if (isUnsupported(cause)) return cause;
  const step = cause instanceof MountStepError ? cause.step : "MountVolume.SetUp failed";
  const error = new Error(`${step} for volume "${volume}" : ${messageOf(cause)}`, { cause });
  return Object.assign(error, { waitingReason });
}
