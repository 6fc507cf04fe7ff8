import type { VolumeWish } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, ObjectMeta, PersistentVolumeClaim } from "@virtual-kubelet/kube-client";
import { ownValue } from "@virtual-kubelet/kubernetes";
import type { FarNode } from "../far/far-node.ts";
import { farClaimName } from "../identity/names.ts";
import { isOwnedBy, ownerTags, tagAnnotations, type FarOwner } from "../identity/tags.ts";

/** The only parameter of a home StorageClass. */
const classParameter = "storageClassName";

/**
 * Returns the far claim for a home claim. It has no `ownerReferences`: garbage collection must never remove data, for example because the
 * owner object was restored from a backup under another UID.
 *
 * @throws InvalidInputError for a claim or StorageClass that asks for what is not there
 */
export function newFarClaim(
  wish: VolumeWish,
  { config, namespaces, owner }: Pick<FarNode, "config" | "namespaces" | "owner">,
): PersistentVolumeClaim & { readonly metadata: { readonly namespace: string; readonly name: string } } {
  const { accessModes, claim, parameters, storage } = wish;
  if (storage === undefined) throw new InvalidInputError("spec.resources.requests.storage: it is missing, expected a size such as 10Gi");
  const unknown = Object.keys(parameters).filter((key) => key !== classParameter);
  if (unknown.length > 0)
    throw new InvalidInputError(
      `StorageClass ${wish.storageClassName}: the parameters ${unknown.join(", ")} are not known, expected only ${classParameter}, a class of the far cluster`,
    );
  const { labels, annotations } = ownerTags(owner);
  const storageClassName = ownValue(config.claims.storageClasses, wish.storageClassName ?? "") ?? parameters[classParameter];
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      namespace: namespaces.toFar(claim.namespace),
      name: farClaimName(owner, claim),
      labels,
      annotations: {
        ...annotations,
        [tagAnnotations.copyOf]: `${claim.namespace}/${claim.name}`,
        [tagAnnotations.copyVersion]: claim.uid,
      },
    },
    spec: {
      accessModes: [...accessModes],
      resources: { requests: { storage } },
      volumeMode: "Filesystem",
      ...(storageClassName !== undefined && { storageClassName }),
    },
  };
}

/** Whether a far claim was made by this node for that home claim. */
export function isFarClaimOf(metadata: DeepReadonly<ObjectMeta> | undefined, owner: FarOwner, claim: VolumeWish["claim"]): boolean {
  const { annotations = {} } = metadata ?? {};
  return (
    isOwnedBy(metadata, owner) &&
    annotations[tagAnnotations.copyOf] === `${claim.namespace}/${claim.name}` &&
    annotations[tagAnnotations.copyVersion] === claim.uid
  );
}
