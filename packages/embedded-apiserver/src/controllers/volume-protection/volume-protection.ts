import type { Cluster } from "../../rest/cluster.ts";
import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { claimProtection, persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import { persistentVolumeKind, volumeProtection } from "../../kinds/volume/persistent-volume.ts";
import { ephemeralClaimName } from "../ephemeral-volume/ephemeral-volume.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

/** Keys of the claims that a pod uses, including those of its ephemeral volumes. */
export function claimKeysOf(pod: Readonly<ApiObject>): string[] {
  const volumes: readonly { name: string; persistentVolumeClaim?: { claimName: string }; ephemeral?: object }[] = pod["spec"].volumes ?? [];
  return volumes
    .map(({ name, persistentVolumeClaim, ephemeral }) =>
      ephemeral === undefined ? persistentVolumeClaim?.claimName : ephemeralClaimName(pod, name),
    )
    .filter((name) => name !== undefined)
    .map((name) => `${pod.metadata.namespace ?? ""}/${name}`);
}

/**
 * Delays the deletion of claims that are used by pods on nodes, and of volumes that are bound to claims.
 * Source: Kubernetes v1.36.3 pkg/controller/volume/{pvcprotection,pvprotection}.
 */
export function startVolumeProtection(context: ControllerContext): Disposable {
  const { cluster } = context;
  const resources = new Disposables();
  const pods = resources.use(new ObjectIndex(cluster, podKind, (pod) => (pod["spec"].nodeName === undefined ? [] : claimKeysOf(pod))));
  const claims = resources.use(createWorkQueue({ ...context, process: syncClaim }));
  const volumes = resources.use(createWorkQueue({ ...context, process: syncVolume }));
  resources.use(
    cluster.watch(persistentVolumeClaimKind, ({ type, object }) => type !== "DELETED" && isDeleting(object) && claims.add(keyOf(object))),
  );
  resources.use(
    cluster.watch(persistentVolumeKind, ({ type, object }) => type !== "DELETED" && isDeleting(object) && volumes.add(keyOf(object))),
  );
  resources.use(cluster.watch(podKind, ({ type, object }) => type === "DELETED" && claimKeysOf(object).forEach((key) => claims.add(key))));
  for (const claim of cluster.list(persistentVolumeClaimKind)) if (isDeleting(claim)) claims.add(keyOf(claim));
  for (const volume of cluster.list(persistentVolumeKind)) if (isDeleting(volume)) volumes.add(keyOf(volume));
  return resources;

  function syncClaim(key: string): void {
    const { namespace, name } = parseKey(key);
    const claim = cluster.get(persistentVolumeClaimKind, namespace, name);
    if (claim !== undefined && isDeleting(claim) && pods.get(key).length === 0)
      letGo(cluster, persistentVolumeClaimKind, claim, claimProtection);
  }

  function syncVolume(key: string): void {
    const volume = cluster.get(persistentVolumeKind, undefined, parseKey(key).name);
    if (volume !== undefined && isDeleting(volume) && volume["status"].phase !== "Bound")
      letGo(cluster, persistentVolumeKind, volume, volumeProtection);
  }
}

function isDeleting({ metadata }: Readonly<ApiObject>): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function letGo(cluster: Cluster, kind: Kind, { metadata }: Readonly<ApiObject>, finalizer: string): void {
  cluster.update(kind, metadata.namespace, metadata.name, (object) => {
    const finalizers = (object.metadata.finalizers ?? []).filter((other) => other !== finalizer);
    if (finalizers.length > 0) object.metadata.finalizers = finalizers;
    else delete object.metadata.finalizers;
    return object;
  });
}
