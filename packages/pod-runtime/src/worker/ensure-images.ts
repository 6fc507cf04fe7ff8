import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { ensureImage, ImageError, type EnsureImageOptions } from "./ensure-image.ts";
import { imageFailureEvent } from "../pod/image-failure.ts";
import { imageVolumesOf, type ImageVolume } from "../pod/image-volumes.ts";
import type { PodNotice } from "../pod/pod-effect.ts";

export interface EnsureImagesOptions extends Omit<EnsureImageOptions, "tell"> {
  tell(notice: PodNotice): void;
}

/** Images of one container, by content. */
export interface ContainerImages {
  readonly imageId: string;
  /** Images of its volumes, by volume name. */
  readonly volumeImages: ReadonlyMap<string, string>;
}

/** Failure to make a volume's image available. The event has been recorded. */
export class VolumeImageError extends ImageError {
  readonly image: string;

  constructor(image: string, { reason, message }: ImageError) {
    super(reason, message);
    this.name = "VolumeImageError";
    this.image = image;
  }
}

/**
 * Makes all images of a container available: first those of its volumes, independently of each other, then its own unless one is missing.
 * Like a kubelet, events about a volume's image are recorded on the pod. Source: getImageVolumes and toKubeContainerImageVolumes in
 * kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_manager.go; unlike a kubelet, images that no container mounts are not pulled.
 *
 * @throws VolumeImageError for the last volume whose image is missing; ImageError
 */
export async function ensureImages(
  pod: DeepReadonly<Pod>,
  container: DeepReadonly<Container>,
  options: EnsureImagesOptions,
  signal: AbortSignal,
): Promise<ContainerImages> {
  const { name, image = "", imagePullPolicy: pullPolicy = "IfNotPresent" } = container;
  const tellOf =
    (about: { readonly container?: string }): EnsureImageOptions["tell"] =>
    (reason, message) =>
      options.tell({ kind: "event", type: "Normal", reason, message, ...about });
  const volumeImages = new Map<string, string>();
  let missing: VolumeImageError | undefined;
  for (const volume of imageVolumesOf(pod, container)) {
    try {
      volumeImages.set(volume.name, (await ensureImage(volume, { ...options, tell: tellOf({}) }, signal)).id);
    } catch (error) {
      signal.throwIfAborted();
      missing = failureOf(volume, error);
      tellFailure(missing, name, options);
    }
  }
  if (missing) throw missing;
  const { id: imageId } = await ensureImage({ image, pullPolicy }, { ...options, tell: tellOf({ container: name }) }, signal);
  return { imageId, volumeImages };
}

function failureOf({ image }: ImageVolume, error: unknown): VolumeImageError {
  if (error instanceof ImageError) return new VolumeImageError(image, error);
  throw error;
}

function tellFailure(failure: VolumeImageError, container: string, { tell }: EnsureImagesOptions): void {
  tell({ kind: "event", type: "Warning", ...imageFailureEvent(failure.image, failure) });
  tell({ kind: "event", type: "Warning", reason: "Failed", message: `Error: ${failure.reason}`, container });
}
