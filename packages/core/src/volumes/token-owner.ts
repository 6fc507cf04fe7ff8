import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";

/**
 * Returns owner and mode of a token's file. If all containers run as one user, that user owns it; in that case, and in a pod with an
 * `fsGroup`, nobody else may read it (the group's permission is added with the group).
 * Source: FsUserFrom in kubernetes v1.36.3 pkg/volume/util/util.go, and pkg/volume/projected.
 */
export function tokenOwner(pod: DeepReadonly<Pod>, defaultMode: number): { readonly mode: number; readonly uid?: number } {
  const uid = commonUser(pod);
  const isRestricted = uid !== undefined || pod.spec?.securityContext?.fsGroup !== undefined;
  return { mode: isRestricted ? 0o600 : defaultMode, ...(uid !== undefined && { uid }) };
}

/** Returns the user of all containers, if their specs name the same one. */
function commonUser({ spec }: DeepReadonly<Pod>): number | undefined {
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? []), ...(spec?.ephemeralContainers ?? [])];
  const users = new Set(containers.map(({ securityContext }) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser));
  return users.size === 1 ? [...users][0] : undefined;
}
