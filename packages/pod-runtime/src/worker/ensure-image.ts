import { goDuration, type Clock, type RegistryCredentials } from "@virtual-kubelet/core";
import { isInvalidInput, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import type { ContainerRuntime, RuntimeImage } from "../runtime/container-runtime.ts";

/** Failure to make an image available, in a kubelet's words. */
export class ImageError extends Error {
  /** Waiting reason: `ErrImagePull`, `ErrImageNeverPull`, `InvalidImageName` or `ImageInspectError`. */
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ImageError";
    this.reason = reason;
  }
}

export interface WantedImage {
  readonly image: string;
  /** `Always`, `IfNotPresent` or `Never`. */
  readonly pullPolicy: string;
}

export interface EnsureImageOptions {
  readonly runtime: Pick<ContainerRuntime, "inspectImage" | "pullImage">;
  readonly clock: Clock;
  /** Called only if the image is pulled. */
  credentials(image: string, signal: AbortSignal): Promise<readonly RegistryCredentials[]>;
  /** Records a Kubernetes event. */
  tell(reason: "Pulling" | "Pulled", message: string): void;
}

/**
 * Makes an image available, according to its pull policy. Events have a kubelet's words. Source: EnsureImageExists in kubernetes v1.36.3
 * pkg/kubelet/images/image_manager.go.
 *
 * @throws ImageError
 */
export async function ensureImage(
  { image, pullPolicy }: WantedImage,
  options: EnsureImageOptions,
  signal: AbortSignal,
): Promise<RuntimeImage> {
  const { runtime, tell } = options;
  if (image === "") throw new ImageError("InvalidImageName", `Failed to apply default image tag "": the container names no image`);
  if (pullPolicy !== "Always") {
    const held = await tryInspect(image, runtime, signal);
    if (held) {
      tell("Pulled", `Container image "${image}" already present on machine and can be accessed by the pod`);
      return held;
    }
    if (pullPolicy === "Never")
      throw new ImageError("ErrImageNeverPull", `Container image "${image}" is not present with pull policy of Never`);
  }
  return pull(image, options, signal);
}

async function pull(image: string, { runtime, clock, credentials, tell }: EnsureImageOptions, signal: AbortSignal): Promise<RuntimeImage> {
  tell("Pulling", `Pulling image "${image}"`);
  const startedMs = clock.monotonic();
  try {
    const pulled = await runtime.pullImage(image, await credentials(image, signal), signal);
    const took = goDuration(clock.monotonic() - startedMs);
    tell("Pulled", `Successfully pulled image "${image}" in ${took} (${took} including waiting). Image size: ${pulled.sizeBytes} bytes.`);
    return pulled;
  } catch (error) {
    signal.throwIfAborted();
    throw new ImageError(isInvalidInput(error) ? "InvalidImageName" : "ErrImagePull", messageOf(error), { cause: error });
  }
}

async function tryInspect(image: string, runtime: EnsureImageOptions["runtime"], signal: AbortSignal): Promise<RuntimeImage | undefined> {
  try {
    return await runtime.inspectImage(image, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isNotFound(error)) return undefined;
    const reason = isInvalidInput(error) ? "InvalidImageName" : "ImageInspectError";
    throw new ImageError(reason, `Failed to inspect image "${image}": ${messageOf(error)}`, { cause: error });
  }
}
