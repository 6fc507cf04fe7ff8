import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { ensureImage, ImageError, type EnsureImageOptions } from "./ensure-image.ts";
import { imageFailureEvent } from "../pod/image-failure.ts";
import { imageVolumesOf, type ImageVolume } from "../pod/image-volumes.ts";
import type { PodNotice } from "../pod/pod-effect.ts";

/** What {@link ensureImages} needs. */
export interface EnsureImagesOptions extends Omit<EnsureImageOptions, "tell"> {
  tell(notice: PodNotice): void;
}

/** The images of one container, by content. */
export interface ContainerImages {
  readonly imageId: string;
  /** Those of its volumes, by the volumes' names. */
  readonly volumeImages: ReadonlyMap<string, string>;
}

/** Why the image of a volume is not there. People have been told. */
export class VolumeImageError extends ImageError {
  /** The image's name. */
  readonly image: string;

  constructor(image: string, { reason, message }: ImageError) {
    super(reason, message);
    this.name = "VolumeImageError";
    this.image = image;
  }
}

/**
 * Makes sure that all images of a container are there: those of its volumes first, each whatever became of the others, and
 * its own where none is missing. As with a kubelet, what concerns a volume's image is told of the pod.
 * Source: getImageVolumes and toKubeContainerImageVolumes in kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_manager.go;
 * a kubelet pulls those that nobody mounts, too.
 *
 * @throws VolumeImageError of the last volume whose image is not there; ImageError
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
