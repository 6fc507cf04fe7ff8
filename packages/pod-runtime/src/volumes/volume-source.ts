import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";

export type Volume = NonNullable<NonNullable<DeepReadonly<Pod>["spec"]>["volumes"]>[number];

/** Source of a volume, if it is on the node's disk. */
export type VolumeSource =
  | { readonly kind: "emptyDir"; readonly medium: string; readonly sizeLimit: string | undefined }
  /** Files from the API server. `folder` is a kubelet's name for the kind. */
  | { readonly kind: "payload"; readonly folder: string; readonly isSecret: boolean }
  | { readonly kind: "hostPath"; readonly path: string; readonly type: string }
  /** A claim; without `claimName`: that of a generic ephemeral volume. */
  | { readonly kind: "claim"; readonly claimName: string | undefined };

/**
 * Reads the source of a volume. Like with a kubelet, all files from the API server except config maps count as secret.
 *
 * @throws UnsupportedError for every other type
 */
export function volumeSource(volume: Volume): VolumeSource {
  const { emptyDir, configMap, secret, downwardAPI, projected, hostPath, persistentVolumeClaim, ephemeral } = volume;
  if (emptyDir) return { kind: "emptyDir", medium: emptyDir.medium ?? "", sizeLimit: emptyDir.sizeLimit };
  if (configMap) return { kind: "payload", folder: "kubernetes.io~configmap", isSecret: false };
  if (secret) return { kind: "payload", folder: "kubernetes.io~secret", isSecret: true };
  if (downwardAPI) return { kind: "payload", folder: "kubernetes.io~downward-api", isSecret: true };
  if (projected) return { kind: "payload", folder: "kubernetes.io~projected", isSecret: true };
  if (hostPath) return { kind: "hostPath", path: hostPath.path, type: hostPath.type ?? "" };
  if (persistentVolumeClaim) return { kind: "claim", claimName: persistentVolumeClaim.claimName };
  if (ephemeral) return { kind: "claim", claimName: undefined };
  const [type = "none"] = Object.keys(volume).filter((field) => field !== "name");
  const expected = "emptyDir, configMap, secret, downwardAPI, projected, hostPath, persistentVolumeClaim, ephemeral or image";
  throw new UnsupportedError(`mount volume "${volume.name}": type ${type} is not supported, expected ${expected}`, {
    fieldPath: `spec.volumes[*].${type}`,
  });
}

/** All containers of a pod, of every kind. */
export function allContainers({ spec }: DeepReadonly<Pod>): readonly DeepReadonly<Container>[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? []), ...(spec?.ephemeralContainers ?? [])];
}

/** Volumes that a container mounts. Others are not created. Images are left out, because the runtime mounts them. */
export function usedVolumes(pod: DeepReadonly<Pod>): readonly Volume[] {
  const names = new Set(allContainers(pod).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  return (pod.spec?.volumes ?? []).filter(({ name, image }) => names.has(name) && !image);
}
