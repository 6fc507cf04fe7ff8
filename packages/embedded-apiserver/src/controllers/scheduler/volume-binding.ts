import type { Cluster } from "../../rest/cluster.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import { persistentVolumeKind } from "../../kinds/volume/persistent-volume.ts";
import { storageClassKind } from "../../kinds/volume/storage-class.ts";
import { claimClassOf, waitsForConsumer } from "../../kinds/volume/volume-class.ts";
import type { ClaimSpec, ClaimStatus, StorageClassObject } from "../../kinds/volume/volume-fields.ts";
import { ephemeralClaimName } from "../ephemeral-volume/ephemeral-volume.ts";
import { parseKey } from "../shared/object-key.ts";
import { bestVolume, reachesNode } from "../volume-binder/volume-match.ts";
import { claimKeysOf } from "../volume-protection/volume-protection.ts";
import { annotate, reserveVolume, volumeAnnotations } from "../volume-binder/volume-writes.ts";

/** Claims of a pod that restrict its choice of nodes. */
export interface PodVolumeClaims {
  /** Volumes of the bound claims. */
  readonly bound: readonly Readonly<ApiObject>[];
  /** Claims that are bound after the pod is assigned to a node. */
  readonly delayed: readonly Readonly<ApiObject>[];
}

/**
 * Looks up a pod's claims. Source: Kubernetes v1.36.3 pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, PreFilter.
 *
 * @returns the reason as text if a claim makes the pod unschedulable
 */
export function podVolumeClaims(cluster: Cluster, pod: Readonly<ApiObject>): PodVolumeClaims | string {
  const bound: Readonly<ApiObject>[] = [];
  const delayed: Readonly<ApiObject>[] = [];
  for (const key of claimKeysOf(pod)) {
    const { namespace, name } = parseKey(key);
    const claim = cluster.get(persistentVolumeClaimKind, namespace, name);
    if (claim === undefined) return missingClaim(pod, name);
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

function missingClaim(pod: Readonly<ApiObject>, name: string): string {
  const volumes: readonly { readonly name: string; readonly ephemeral?: object }[] = pod["spec"].volumes ?? [];
  const isEphemeral = volumes.some((volume) => volume.ephemeral !== undefined && ephemeralClaimName(pod, volume.name) === name);
  return isEphemeral
    ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
    : `persistentvolumeclaim "${name}" not found`;
}

/** Reason why the pod's claims exclude the node; `undefined` if they do not. Source: binder.go, FindPodVolumes. */
export function volumeProblem(cluster: Cluster, { bound, delayed }: PodVolumeClaims, node: Readonly<ApiObject>): string | undefined {
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

/** Requests binding of the delayed claims for this node. The scheduler waits until the volume binder has bound them. */
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
