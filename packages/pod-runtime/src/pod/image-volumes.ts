import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";

/** A volume that is an image. */
export interface ImageVolume {
  /** The volume's name. */
  readonly name: string;
  /** The image's name. */
  readonly image: string;
  /** `Always`, `IfNotPresent` or `Never`. */
  readonly pullPolicy: string;
}

/** The volumes of a pod that are images and which the container mounts, each once, in the order of the pod's spec. */
export function imageVolumesOf(pod: DeepReadonly<Pod>, { volumeMounts = [] }: DeepReadonly<Container>): readonly ImageVolume[] {
  const mounted = new Set(volumeMounts.map(({ name }) => name));
  return (pod.spec?.volumes ?? []).flatMap(({ name, image: source }) => {
    if (!source || !mounted.has(name)) return [];
    const { reference: image = "", pullPolicy } = source;
    return [{ name, image, pullPolicy: pullPolicy || defaultPullPolicy(image) }];
  });
}

/**
 * When an image is pulled, where nobody says.
 * Source: SetDefaults_Volume in kubernetes v1.36.3 pkg/apis/core/v1/defaults.go.
 */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  const [name = "", digest] = image.split("@");
  const last = name.slice(name.lastIndexOf("/") + 1);
  const [, tag = digest === undefined ? "latest" : ""] = last.split(":");
  return tag === "latest" ? "Always" : "IfNotPresent";
}

/**
 * Refuses a pod with images for volumes where the runtime cannot mount them.
 *
 * @throws UnsupportedError naming the field
 */
export function checkImageVolumes(
  { spec }: DeepReadonly<Pod>,
  { name: runtime, canMountImages = false }: Pick<ContainerRuntime, "name" | "canMountImages">,
): void {
  const index = canMountImages ? -1 : (spec?.volumes ?? []).findIndex(({ image }) => image);
  if (index < 0) return;
  const fieldPath = `spec.volumes[${index}].image`;
  const volume = spec?.volumes?.[index]?.name;
  throw new UnsupportedError(`mount volume "${volume}": ${fieldPath} needs a runtime that mounts images, and ${runtime} does not`, {
    fieldPath,
  });
}
