import type { Cluster } from "../../rest/cluster.ts";
import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { attributesClassProtection, volumeAttributesClassKind } from "../../kinds/plain/storage-drivers.ts";
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
 * Delays the deletion of claims that are used by pods on nodes, of volumes that are bound to claims, and of attributes classes that either
 * names.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/volume/{pvcprotection,pvprotection,vacprotection}.
 */
export function startVolumeProtection(context: ControllerContext): Disposable {
  const { cluster } = context;
  const resources = new Disposables();
  const pods = resources.use(new ObjectIndex(cluster, podKind, (pod) => (pod["spec"].nodeName === undefined ? [] : claimKeysOf(pod))));
  const claims = resources.use(createWorkQueue({ ...context, process: syncClaim }));
  const volumes = resources.use(createWorkQueue({ ...context, process: syncVolume }));
  const attributes = resources.use(createWorkQueue({ ...context, process: syncAttributes }));
  resources.use(
    cluster.watch(persistentVolumeClaimKind, ({ type, object }) => type !== "DELETED" && isDeleting(object) && claims.add(keyOf(object))),
  );
  resources.use(
    cluster.watch(persistentVolumeKind, ({ type, object }) => type !== "DELETED" && isDeleting(object) && volumes.add(keyOf(object))),
  );
  resources.use(cluster.watch(podKind, ({ type, object }) => type === "DELETED" && claimKeysOf(object).forEach((key) => claims.add(key))));
  resources.use(
    cluster.watch(
      volumeAttributesClassKind,
      ({ type, object }) => type !== "DELETED" && isDeleting(object) && attributes.add(keyOf(object)),
    ),
  );
  for (const kind of [persistentVolumeClaimKind, persistentVolumeKind])
    resources.use(cluster.watch(kind, ({ type }) => type !== "ADDED" && recheckAttributes()));
  recheckAttributes();
  for (const claim of cluster.list(persistentVolumeClaimKind)) if (isDeleting(claim)) claims.add(keyOf(claim));
  for (const volume of cluster.list(persistentVolumeKind)) if (isDeleting(volume)) volumes.add(keyOf(volume));
  return resources;

  function syncClaim(key: string): void {
    const { namespace, name } = parseKey(key);
    const claim = cluster.get(persistentVolumeClaimKind, namespace, name);
    if (claim !== undefined && isDeleting(claim) && pods.get(key).length === 0)
      letGo(cluster, persistentVolumeClaimKind, claim, claimProtection);
  }

  function recheckAttributes(): void {
    for (const one of cluster.list(volumeAttributesClassKind)) if (isDeleting(one)) attributes.add(keyOf(one));
  }

  function syncAttributes(key: string): void {
    const { name } = parseKey(key);
    const one = cluster.get(volumeAttributesClassKind, undefined, name);
    if (one === undefined || !isDeleting(one)) return;
    const isUsed = [...cluster.list(persistentVolumeKind), ...cluster.list(persistentVolumeClaimKind)].some((object) =>
      attributesClassesOf(object).includes(name),
    );
    if (!isUsed) letGo(cluster, volumeAttributesClassKind, one, attributesClassProtection);
  }

  function syncVolume(key: string): void {
    const volume = cluster.get(persistentVolumeKind, undefined, parseKey(key).name);
    if (volume !== undefined && isDeleting(volume) && volume["status"].phase !== "Bound")
      letGo(cluster, persistentVolumeKind, volume, volumeProtection);
  }
}

/** Attributes classes that a volume or a claim names. */
function attributesClassesOf({ spec, status }: Readonly<ApiObject>): readonly string[] {
  const names: readonly (string | undefined)[] = [
    spec.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return names.filter((name) => name !== undefined);
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
