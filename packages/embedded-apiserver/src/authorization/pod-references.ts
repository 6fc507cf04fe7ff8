import type { ApiObject } from "../kind.ts";
import type { Container, PodSpec } from "../kinds/pod/pod-fields.ts";

/** Kinds of objects a pod names. */
export type ReferencedKind = "secrets" | "configmaps" | "serviceaccounts" | "persistentvolumeclaims";

const mirrorAnnotation = "kubernetes.io/config.mirror";

/**
 * Whether a pod names an object of its namespace.
 *
 * Source: Kubernetes v1.36.3 pkg/api/v1/pod/util.go `VisitPodSecretNames`, `VisitPodConfigmapNames` and
 * plugin/pkg/auth/authorizer/node/graph.go `AddPod`: what a mirror pod names counts for nothing.
 */
export function podRefersTo(pod: Readonly<ApiObject>, kind: ReferencedKind, name: string): boolean {
  if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) return false;
  const spec: PodSpec = pod["spec"];
  switch (kind) {
    case "serviceaccounts":
      return spec.serviceAccountName === name;
    case "persistentvolumeclaims":
      return volumesOf(spec).some(
        (volume) =>
          volume["persistentVolumeClaim"]?.claimName === name ||
          (volume["ephemeral"] !== undefined && `${pod.metadata.name}-${String(volume["name"])}` === name),
      );
    case "configmaps":
      return environmentRefersTo(spec, "configMap", name) || volumesOf(spec).some((volume) => volumeNamesConfigMap(volume, name));
    case "secrets":
      return (
        (spec.imagePullSecrets ?? []).some((secret) => secret.name === name) ||
        environmentRefersTo(spec, "secret", name) ||
        volumesOf(spec).some((volume) => volumeNamesSecret(volume, name))
      );
    default:
      return kind satisfies never;
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- sources of every kind of volume
type AnyVolume = Readonly<Record<string, any>>;

function volumesOf(spec: PodSpec): readonly AnyVolume[] {
  return (spec.volumes ?? []) as readonly AnyVolume[];
}

function volumeNamesConfigMap(volume: AnyVolume, name: string): boolean {
  const sources: AnyVolume[] = volume["projected"]?.sources ?? [];
  return volume["configMap"]?.name === name || sources.some((source) => source["configMap"]?.name === name);
}

const sourcesWithSecretRef = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"] as const;

function volumeNamesSecret(volume: AnyVolume, name: string): boolean {
  const sources: AnyVolume[] = volume["projected"]?.sources ?? [];
  return (
    volume["secret"]?.secretName === name ||
    volume["azureFile"]?.secretName === name ||
    volume["csi"]?.nodePublishSecretRef?.name === name ||
    sourcesWithSecretRef.some((source) => volume[source]?.secretRef?.name === name) ||
    sources.some((source) => source["secret"]?.name === name)
  );
}

function environmentRefersTo(spec: PodSpec, source: "secret" | "configMap", name: string): boolean {
  return containersOf(spec).some(
    (container) =>
      (container.envFrom ?? []).some((from) => (from as AnyVolume)[`${source}Ref`]?.name === name) ||
      (container.env ?? []).some(({ valueFrom }) => (valueFrom as AnyVolume | undefined)?.[`${source}KeyRef`]?.name === name),
  );
}

function containersOf({ containers, initContainers, ephemeralContainers }: PodSpec): Container[] {
  return [...(containers ?? []), ...(initContainers ?? []), ...((ephemeralContainers ?? []) as Container[])];
}
