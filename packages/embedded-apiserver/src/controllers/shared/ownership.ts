import type { ApiMetadata, ApiObject, Kind } from "../../kinds/kind.ts";

export type OwnerReference = NonNullable<ApiMetadata["ownerReferences"]>[number];

/** Owner reference with `controller: true`, if there is one. */
export function controllerOf({ metadata }: Readonly<ApiObject>): OwnerReference | undefined {
  return metadata.ownerReferences?.find((owner) => owner.controller);
}

/** Builds an owner reference with `controller: true`. */
export function controllerReference(kind: Kind, owner: Readonly<ApiObject>): OwnerReference {
  const { name, uid } = owner.metadata;
  return {
    apiVersion: `${kind.group === "" ? "" : `${kind.group}/`}${kind.version}`,
    kind: kind.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

export function withOwner(object: ApiObject, owner: OwnerReference): ApiObject {
  object.metadata.ownerReferences = [...(object.metadata.ownerReferences ?? []), owner];
  return object;
}

export function withoutOwners(object: ApiObject, isGone: (owner: OwnerReference) => boolean): ApiObject {
  const owners = object.metadata.ownerReferences?.filter((owner) => !isGone(owner)) ?? [];
  if (owners.length > 0) object.metadata.ownerReferences = owners;
  else delete object.metadata.ownerReferences;
  return object;
}
