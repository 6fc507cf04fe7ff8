import type { ApiObject, Kind } from "../../kinds/kind.ts";
import type { Cluster } from "../../rest/cluster.ts";
import { type OwnerReference, withoutOwners } from "../shared/ownership.ts";

/** Removes the references to these owners. */
export function releaseOwners(cluster: Cluster, kind: Kind, object: Readonly<ApiObject>, owners: readonly OwnerReference[]): void {
  const { namespace, name, uid } = object.metadata;
  const uids = new Set(owners.map((owner) => owner.uid));
  cluster.update(kind, namespace, name, (latest) =>
    latest.metadata.uid === uid ? withoutOwners(latest, (owner) => uids.has(owner.uid)) : undefined,
  );
}

/** Lets the object no longer block the deletion of its owners. */
export function unblockOwners(cluster: Cluster, kind: Kind, { metadata: { namespace, name } }: Readonly<ApiObject>): void {
  cluster.update(kind, namespace, name, (object) => {
    for (const owner of object.metadata.ownerReferences ?? []) if (owner.blockOwnerDeletion) owner.blockOwnerDeletion = false;
    return object;
  });
}

/** Removes a finalizer. */
export function dropFinalizer(cluster: Cluster, kind: Kind, { metadata }: Readonly<ApiObject>, finalizer: string): void {
  cluster.update(kind, metadata.namespace, metadata.name, (object) => {
    const finalizers = (object.metadata.finalizers ?? []).filter((other) => other !== finalizer);
    if (finalizers.length > 0) object.metadata.finalizers = finalizers;
    else delete object.metadata.finalizers;
    return object;
  });
}
