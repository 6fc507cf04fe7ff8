import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";

/** A volume of type image. */
export interface ImageVolume {
  readonly name: string;
  readonly image: string;
  /** `Always`, `IfNotPresent` or `Never`. */
  readonly pullPolicy: string;
}

/** The volumes of type image that the container mounts, without duplicates, in the order of the pod's spec. */
export function imageVolumesOf(pod: DeepReadonly<Pod>, { volumeMounts = [] }: DeepReadonly<Container>): readonly ImageVolume[] {
  const mounted = new Set(volumeMounts.map(({ name }) => name));
  return (pod.spec?.volumes ?? []).flatMap(({ name, image: source }) => {
    if (!source || !mounted.has(name)) return [];
    const { reference: image = "", pullPolicy } = source;
    return [{ name, image, pullPolicy: pullPolicy || defaultPullPolicy(image) }];
  });
}

/** Default pull policy of an image. Source: SetDefaults_Volume in kubernetes v1.36.3 pkg/apis/core/v1/defaults.go. */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  const [name = "", digest] = image.split("@");
  const last = name.slice(name.lastIndexOf("/") + 1);
  const [, tag = digest === undefined ? "latest" : ""] = last.split(":");
  return tag === "latest" ? "Always" : "IfNotPresent";
}

/**
 * Refuses a pod with volumes of type image if the runtime cannot mount images.
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
