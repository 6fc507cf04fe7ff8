import type { ClaimedVolumeSource, ProvisionedSource } from "@virtual-kubelet/core";

/** Name of a claim in the far cluster. */
export interface FarClaimName {
  readonly namespace: string;
  readonly name: string;
}

/** Source of the home PersistentVolume that stands for a far claim. */
export function claimVolumeSource(provisioner: string, { namespace, name }: FarClaimName): ProvisionedSource {
  return { kind: "flexVolume", driver: provisioner, options: { namespace, claim: name } };
}

/** The far claim behind a home PersistentVolume; `undefined` for any other volume. */
export function farClaimOf(source: ClaimedVolumeSource, provisioner: string): FarClaimName | undefined {
  if (source.kind !== "flexVolume" || source.driver !== provisioner) return undefined;
  const { namespace, claim } = source.options;
  return namespace && claim ? { namespace, name: claim } : undefined;
}
