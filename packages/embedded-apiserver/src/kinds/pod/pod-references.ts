import type { ApiObject } from "../kind.ts";
import type { Container, PodSpec } from "./pod-fields.ts";

/** Kinds of objects that a pod can reference. */
export type ReferencedKind = "secrets" | "configmaps" | "serviceaccounts" | "persistentvolumeclaims";

// oxlint-disable-next-line typescript/no-explicit-any -- sources of every kind of volume
type AnyVolume = Readonly<Record<string, any>>;

/**
 * Names of a kind's objects that a pod references, all in the pod's namespace.
 *
 * Source: Kubernetes v1.36.3 pkg/api/v1/pod/util.go `VisitPodSecretNames`, `VisitPodConfigmapNames` and
 * plugin/pkg/auth/authorizer/node/graph.go `AddPod`.
 */
export function namesInPod({ metadata, spec: fields }: Readonly<ApiObject>, kind: ReferencedKind): string[] {
  const spec: PodSpec = fields;
  switch (kind) {
    case "serviceaccounts":
      return present([spec.serviceAccountName]);
    case "persistentvolumeclaims":
      return present(
        volumesOf(spec).map((volume) =>
          volume["ephemeral"] === undefined ? volume["persistentVolumeClaim"]?.claimName : `${metadata.name}-${String(volume["name"])}`,
        ),
      );
    case "configmaps":
      return present([...environmentNames(spec, "configMap"), ...volumesOf(spec).flatMap(configMapsOfVolume)]);
    case "secrets":
      return present([
        ...(spec.imagePullSecrets ?? []).map(({ name }) => name),
        ...environmentNames(spec, "secret"),
        ...volumesOf(spec).flatMap(secretsOfVolume),
      ]);
    default:
      return kind satisfies never;
  }
}

function present(names: readonly (string | undefined)[]): string[] {
  return names.flatMap((name) => (name === undefined || name === "" ? [] : [name]));
}

function volumesOf(spec: PodSpec): readonly AnyVolume[] {
  return (spec.volumes ?? []) as readonly AnyVolume[];
}

function configMapsOfVolume(volume: AnyVolume): (string | undefined)[] {
  const sources: AnyVolume[] = volume["projected"]?.sources ?? [];
  return [volume["configMap"]?.name, ...sources.map((source) => source["configMap"]?.name)];
}

const sourcesWithSecretRef = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"] as const;

function secretsOfVolume(volume: AnyVolume): (string | undefined)[] {
  const sources: AnyVolume[] = volume["projected"]?.sources ?? [];
  return [
    volume["secret"]?.secretName,
    volume["azureFile"]?.secretName,
    volume["csi"]?.nodePublishSecretRef?.name,
    ...sourcesWithSecretRef.map((source) => volume[source]?.secretRef?.name),
    ...sources.map((source) => source["secret"]?.name),
  ];
}

function environmentNames(spec: PodSpec, source: "secret" | "configMap"): (string | undefined)[] {
  return containersOf(spec).flatMap((container) => [
    ...(container.envFrom ?? []).map((from) => (from as AnyVolume)[`${source}Ref`]?.name),
    ...(container.env ?? []).map(({ valueFrom }) => (valueFrom as AnyVolume | undefined)?.[`${source}KeyRef`]?.name),
  ]);
}

function containersOf({ containers, initContainers, ephemeralContainers }: PodSpec): Container[] {
  return [...(containers ?? []), ...(initContainers ?? []), ...((ephemeralContainers ?? []) as Container[])];
}
