import { isUnsupported, messageOf } from "@virtual-kubelet/errdefs";

/** Waiting reason of containers while their pod's volumes are prepared. */
export const waitingReason = "ContainerCreating";

/** Reason of the event about a volume that could not be prepared. */
export const mountEventReason = "FailedMount";

/** Failure of a step other than the set-up of a volume. */
export class MountStepError extends Error {
  /** The step in a kubelet's words, such as `MountVolume.NewMounter initialization failed`. */
  readonly step: string;

  constructor(step: string, message: string) {
    super(message);
    this.step = step;
  }
}

/**
 * Wraps the failure of a volume in a kubelet's words, with the code of its cause. The pod's containers wait as `ContainerCreating`. An
 * UnsupportedError is returned unchanged, because it names its field. Source: GenerateError in kubernetes v1.36.3
 * pkg/volume/util/operationexecutor/operation_executor.go.
 */
export function mountError(volume: string, cause: unknown): unknown {
  if (isUnsupported(cause)) return cause;
  const step = cause instanceof MountStepError ? cause.step : "MountVolume.SetUp failed";
  const error = new Error(`${step} for volume "${volume}" : ${messageOf(cause)}`, { cause });
  return Object.assign(error, { waitingReason });
}
