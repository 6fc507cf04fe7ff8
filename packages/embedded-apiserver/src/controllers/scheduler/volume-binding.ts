import type { Cluster } from "../../rest/cluster.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import { persistentVolumeKind } from "../../kinds/volume/persistent-volume.ts";
import { storageClassKind } from "../../kinds/volume/storage-class.ts";
import { claimClassOf, waitsForConsumer } from "../../kinds/volume/volume-class.ts";
import type { ClaimSpec, ClaimStatus, StorageClassObject } from "../../kinds/volume/volume-fields.ts";
import { parseKey } from "../shared/object-key.ts";
import { bestVolume, reachesNode } from "../volume-binder/volume-match.ts";
import { claimKeysOf } from "../volume-protection/volume-protection.ts";
import { annotate, reserveVolume, volumeAnnotations } from "../volume-binder/volume-writes.ts";

/** The claims of a pod, as far as they decide on its node. */
export interface PodVolumeClaims {
  /** Volumes of claims that are bound. */
  readonly bound: readonly Readonly<ApiObject>[];
  /** Claims that are bound only once the pod has a node. */
  readonly delayed: readonly Readonly<ApiObject>[];
}

/**
 * Looks up a pod's claims. Source: Kubernetes v1.36.3 pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, PreFilter.
 *
 * @returns why the pod can run nowhere, if one of them is in its way
 */
export function podVolumeClaims(cluster: Cluster, pod: Readonly<ApiObject>): PodVolumeClaims | string {
  const bound: Readonly<ApiObject>[] = [];
  const delayed: Readonly<ApiObject>[] = [];
  for (const key of claimKeysOf(pod)) {
    const { namespace, name } = parseKey(key);
    const claim = cluster.get(persistentVolumeClaimKind, namespace, name);
    if (claim === undefined) return `persistentvolumeclaim "${name}" not found`;
    const { volumeName }: ClaimSpec = claim["spec"];
    const { phase }: ClaimStatus = claim["status"];
    if (phase === "Lost") return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${volumeName ?? ""}"`;
    if (claim.metadata.deletionTimestamp !== undefined) return `persistentvolumeclaim "${name}" is being deleted`;
    const volume = volumeName === undefined ? undefined : cluster.get(persistentVolumeKind, undefined, volumeName);
    if (claim.metadata.annotations?.[volumeAnnotations.bindCompleted] !== undefined && volume !== undefined) bound.push(volume);
    else if (volumeName === undefined && waitsForConsumer(cluster.get(storageClassKind, undefined, claimClassOf(claim))))
      delayed.push(claim);
    else return "pod has unbound immediate PersistentVolumeClaims";
  }
  return { bound, delayed };
}

/** Why a pod with these claims cannot run on the node; `undefined` if it can. Source: binder.go, FindPodVolumes. */
export function volumeMisfit(cluster: Cluster, { bound, delayed }: PodVolumeClaims, node: Readonly<ApiObject>): string | undefined {
  if (!bound.every((volume) => reachesNode(volume, node))) return "node(s) didn't match PersistentVolume's node affinity";
  const volumes = cluster.list(persistentVolumeKind);
  const fits = delayed.every(
    (claim) => bestVolume(claim, volumes, { node, isDelayed: true }) !== undefined || isProvisioned(cluster, claim),
  );
  return fits ? undefined : "node(s) didn't find available persistent volumes to bind";
}

function isProvisioned(cluster: Cluster, claim: Readonly<ApiObject>): boolean {
  const storageClass = cluster.get(storageClassKind, undefined, claimClassOf(claim)) as StorageClassObject | undefined;
  return storageClass !== undefined && storageClass.provisioner !== "kubernetes.io/no-provisioner";
}

/** Has the claims that wait for a node bound for this one; the binder tells by their phase when they are. */
export function bindDelayed(cluster: Cluster, { delayed }: PodVolumeClaims, node: Readonly<ApiObject>): void {
  for (const claim of delayed) {
    const volume = bestVolume(claim, cluster.list(persistentVolumeKind), { node, isDelayed: true });
    const { namespace, name } = claim.metadata;
    if (volume !== undefined) reserveVolume(cluster, volume, claim);
    else
      cluster.update(persistentVolumeClaimKind, namespace, name, (object) =>
        annotate(object, { [volumeAnnotations.selectedNode]: node.metadata.name }),
      );
  }
}
