import type { Container, DeepReadonly, Pod, PodSpec } from "@virtual-kubelet/kube-client";

/** Whether a volume is the one that the API server's ServiceAccount admission adds to every pod. */
export function isServiceAccountVolume(volume: DeepReadonly<NonNullable<PodSpec["volumes"]>[number]>): boolean {
  return volume.name.startsWith("kube-api-access-") && volume.projected !== undefined;
}

/**
 * Returns the pod without that volume and its mounts, for a provider without projected volumes. A pod that has
 * none is returned unchanged.
 */
export function withoutServiceAccountVolume(pod: DeepReadonly<Pod>): DeepReadonly<Pod> {
  const { spec } = pod;
  const dropped = new Set((spec?.volumes ?? []).filter(isServiceAccountVolume).map(({ name }) => name));
  if (!spec || dropped.size === 0) return pod;
  const unmount = <C extends DeepReadonly<Pick<Container, "volumeMounts">>>(container: C): C =>
    container.volumeMounts ? { ...container, volumeMounts: container.volumeMounts.filter(({ name }) => !dropped.has(name)) } : container;
  return {
    ...pod,
    spec: {
      ...spec,
      volumes: spec.volumes?.filter(({ name }) => !dropped.has(name)),
      containers: spec.containers.map(unmount),
      ...(spec.initContainers && { initContainers: spec.initContainers.map(unmount) }),
      ...(spec.ephemeralContainers && { ephemeralContainers: spec.ephemeralContainers.map(unmount) }),
    },
  };
}
