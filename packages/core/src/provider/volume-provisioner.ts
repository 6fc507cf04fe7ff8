import type { ClaimedVolumeSource } from "./claimed-volume.ts";

/** A volume that a claim waits for. */
export interface VolumeWish {
  /** Name of the future PersistentVolume: `pvc-` and the claim's UID. */
  readonly name: string;
  /** One of the names that `ProviderDefinition.provisioners` returns. */
  readonly provisioner: string;
  readonly claim: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Parameters of the StorageClass; the provisioner defines their keys. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Such as `ReadWriteOnce`. */
  readonly accessModes: readonly string[];
  /** Requested size, a quantity such as `10Gi`; `undefined` if the claim names none. */
  readonly storage?: string | undefined;
  /** Name of the StorageClass. */
  readonly storageClassName?: string | undefined;
}

/** A provisioned volume whose claim is gone. */
export interface ReleasedVolume {
  /** Name of the PersistentVolume. */
  readonly name: string;
  readonly provisioner: string;
  /** The former claim. */
  readonly claim: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly source: ClaimedVolumeSource;
}

/** Source of a volume that a provider creates. */
export type ProvisionedSource = Exclude<ClaimedVolumeSource, { readonly kind: "other" }>;

/**
 * A provider that creates volumes for claims whose pods were scheduled to its node, and removes them. The core decides when, because it can
 * read the API server. Calls for one volume never overlap.
 */
export interface VolumeProvisioner {
  /**
   * Creates a volume that only this node can reach. Must be idempotent by name: it is called again after an unclear outcome.
   *
   * @throws InvalidInputError or UnsupportedError for a volume that can never be created, with a message for the claim's author; any other
   * error is retried
   */
  provisionVolume(wish: VolumeWish, signal: AbortSignal): Promise<ProvisionedSource>;
  /**
   * Removes a volume with all its content, permanently. Must be idempotent, and must remove nothing that is not provably its own and the
   * claim's.
   *
   * @throws if anything is in doubt, for example when a pod still uses it: the volume stays, and the call is repeated
   */
  removeVolume(volume: ReleasedVolume, signal: AbortSignal): Promise<void>;
}
