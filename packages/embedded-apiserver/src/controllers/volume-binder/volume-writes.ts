import type { Cluster } from "../../rest/cluster.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import { persistentVolumeKind } from "../../kinds/volume/persistent-volume.ts";
import type { ClaimSpec, VolumeSpec } from "../../kinds/volume/volume-fields.ts";
import { isBoundTo } from "./volume-match.ts";

/** Annotations of bindings. Source: k8s.io/component-helpers v0.36.3 storage/volume/pv_helpers.go. */
export const volumeAnnotations = {
  bindCompleted: "pv.kubernetes.io/bind-completed",
  boundByController: "pv.kubernetes.io/bound-by-controller",
  provisionedBy: "pv.kubernetes.io/provisioned-by",
  selectedNode: "volume.kubernetes.io/selected-node",
  provisioner: "volume.kubernetes.io/storage-provisioner",
  betaProvisioner: "volume.beta.kubernetes.io/storage-provisioner",
} as const;

export function annotate(object: ApiObject, annotations: Readonly<Record<string, string>>): ApiObject {
  object.metadata.annotations = { ...object.metadata.annotations, ...annotations };
  return object;
}

/** Reserves a volume for a claim. Source: pv_helpers.go, GetBindVolumeToClaim. */
export function reserveVolume(
  cluster: Cluster,
  { metadata }: Readonly<ApiObject>,
  claim: Readonly<ApiObject>,
): Readonly<ApiObject> | undefined {
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  return cluster.update(persistentVolumeKind, undefined, metadata.name, (volume) => {
    const spec: VolumeSpec = volume["spec"];
    if (spec.claimRef?.uid === uid) return undefined;
    if (!isBoundTo(volume, claim)) annotate(volume, { [volumeAnnotations.boundByController]: "yes" });
    spec.claimRef = { kind: "PersistentVolumeClaim", namespace: namespace ?? "", name, uid, apiVersion: "v1", resourceVersion };
    return volume;
  });
}

/** Binds a volume and a claim to each other. Source: Kubernetes v1.36.3 pkg/controller/volume/persistentvolume/pv_controller.go, bind. */
export function bindVolume(cluster: Cluster, volume: Readonly<ApiObject>, claim: Readonly<ApiObject>): void {
  const { name, namespace } = claim.metadata;
  const bound = reserveVolume(cluster, volume, claim);
  if (bound === undefined) return;
  writeStatus(cluster, persistentVolumeKind, bound, { phase: "Bound" });
  cluster.update(persistentVolumeClaimKind, namespace, name, (object) => {
    const spec: ClaimSpec = object["spec"];
    const isAsked = spec.volumeName === bound.metadata.name;
    spec.volumeName = bound.metadata.name;
    return annotate(object, {
      [volumeAnnotations.bindCompleted]: "yes",
      ...(isAsked ? {} : { [volumeAnnotations.boundByController]: "yes" }),
    });
  });
  const { accessModes, capacity }: VolumeSpec = bound["spec"];
  writeStatus(cluster, persistentVolumeClaimKind, claim, { phase: "Bound", accessModes, capacity });
}

/** Releases a volume from a claim that is bound to another one. Source: pv_controller.go, unbindVolume. */
export function unbindVolume(cluster: Cluster, { metadata }: Readonly<ApiObject>): void {
  cluster.update(persistentVolumeKind, undefined, metadata.name, (volume) => {
    const spec: VolumeSpec = volume["spec"];
    const { [volumeAnnotations.boundByController]: byController, ...annotations } = volume.metadata.annotations ?? {};
    if (byController === undefined) delete spec.claimRef?.uid;
    else delete spec.claimRef;
    volume.metadata.annotations = annotations;
    return volume;
  });
}

/** Updates part of a status if it differs. @returns whether it did */
export function writeStatus(
  cluster: Cluster,
  kind: Kind,
  { metadata }: Readonly<ApiObject>,
  part: Readonly<Record<string, unknown>>,
): boolean {
  let isChanged = false;
  cluster.update(
    kind,
    metadata.namespace,
    metadata.name,
    (object) => {
      const status = { ...object["status"], ...part };
      isChanged = object.metadata.uid === metadata.uid && !equalJson(status, object["status"]);
      return isChanged ? { ...object, status } : undefined;
    },
    "status",
  );
  return isChanged;
}
