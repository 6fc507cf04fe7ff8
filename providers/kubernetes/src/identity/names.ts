import type { PodRef } from "@virtual-kubelet/core";
import { longHash, shortHash } from "./short-hash.ts";
import type { FarOwner } from "./tags.ts";

/** Longest name of a pod whose hostname can be its name. */
const maxNameLength = 63;

/** Name of the far pod: that of the home pod, and a hash of cluster and UID. */
export function farPodName({ clusterId }: Pick<FarOwner, "clusterId">, pod: PodRef): string {
  return withHash(pod.name, shortHash(clusterId, pod.uid));
}

/** Name of a node's copy of a config map or secret. */
export function copyName(
  { clusterId, nodeName }: FarOwner,
  kind: "ConfigMap" | "Secret",
  home: { readonly namespace: string; readonly name: string },
): string {
  return withHash(home.name, longHash(clusterId, nodeName, kind, home.namespace, home.name));
}

/** Name of the secret with what only this pod has: tokens and downward files. */
export function podSecretName({ clusterId }: Pick<FarOwner, "clusterId">, pod: PodRef): string {
  return withHash(pod.name, shortHash(clusterId, pod.uid, "files"));
}

/** Name of a far claim; by the UID of the home claim. */
export function farClaimName({ clusterId }: Pick<FarOwner, "clusterId">, claim: { readonly name: string; readonly uid: string }): string {
  return withHash(claim.name, shortHash(clusterId, claim.uid));
}

/** Name of the object that owns everything a node creates in a far namespace. */
export function ownerObjectName({ clusterId, nodeName }: FarOwner): string {
  return `virtual-kubelet-${shortHash(clusterId, nodeName)}`;
}

/**
 * Name of a mirrored EndpointSlice.
 *
 * @param scope - what distinguishes mirrors that write to the same namespace
 */
export function mirroredSliceName(
  scope: string,
  source: { readonly namespace: string; readonly name: string; readonly addressType: string },
): string {
  return withHash(source.name, longHash(scope, source.namespace, source.name, source.addressType));
}

function withHash(name: string, hash: string): string {
  const room = maxNameLength - hash.length - 1;
  return `${name.slice(0, room).replace(/[-.]+$/, "")}-${hash}`;
}
