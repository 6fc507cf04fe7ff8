import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";

/**
 * Who may read a token's file. Where all containers run as one user it is that user's; there, and where the pod has an
 * `fsGroup`, nobody else may read it (the group's right comes with the group).
 * Source: FsUserFrom in kubernetes v1.36.3 pkg/volume/util/util.go, and pkg/volume/projected.
 */
export function tokenOwner(pod: DeepReadonly<Pod>, defaultMode: number): { readonly mode: number; readonly uid?: number } {
  const uid = commonUser(pod);
  const isRestricted = uid !== undefined || pod.spec?.securityContext?.fsGroup !== undefined;
  return { mode: isRestricted ? 0o600 : defaultMode, ...(uid !== undefined && { uid }) };
}

/** The user all containers of the pod run as, if there is one, and their specs say so. */
function commonUser({ spec }: DeepReadonly<Pod>): number | undefined {
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? []), ...(spec?.ephemeralContainers ?? [])];
  const users = new Set(containers.map(({ securityContext }) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser));
  return users.size === 1 ? [...users][0] : undefined;
}
