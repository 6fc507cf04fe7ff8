import type { ClaimedVolumeSource } from "../volumes/claimed-volume.ts";

/** A volume that a claim waits for. */
export interface VolumeWish {
  /** Name of the PersistentVolume to be: `pvc-` and the claim's UID. */
  readonly name: string;
  /** One of those that `ProviderDefinition.provisioners` gives. */
  readonly provisioner: string;
  readonly claim: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** The StorageClass's, whose keys mean what the provisioner says. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Such as `ReadWriteOnce`. */
  readonly accessModes: readonly string[];
}

/** A volume that was made for a claim, which is gone. */
export interface ReleasedVolume {
  /** Name of the PersistentVolume. */
  readonly name: string;
  readonly provisioner: string;
  /** Whose it was. */
  readonly claim: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly source: ClaimedVolumeSource;
}

/** Source of a volume that a provider makes. */
export type ProvisionedSource = Exclude<ClaimedVolumeSource, { readonly kind: "other" }>;

/**
 * A provider that makes volumes for claims whose pods were scheduled to its node, and removes them. Core knows when: it has the rights and looks
 * at the API server. Calls for one volume come one after the other.
 */
export interface VolumeProvisioner {
  /**
   * Makes a volume, which can be reached from this node alone. Must be idempotent by name: it is called again after an unclear outcome.
   *
   * @throws InvalidInputError or UnsupportedError for what can never be made so, in words for who made the claim; any other error is tried again
   */
  provisionVolume(wish: VolumeWish, signal: AbortSignal): Promise<ProvisionedSource>;
  /**
   * Removes a volume with all that is in it, for ever. Must be idempotent, and must remove nothing that it cannot tell to be its own and that
   * claim's.
   *
   * @throws if anything is in doubt, such as a pod that still uses it: the volume stays, and it is called again
   */
  removeVolume(volume: ReleasedVolume, signal: AbortSignal): Promise<void>;
}
