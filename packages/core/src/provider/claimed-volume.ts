/** Source of a PersistentVolume. */
export type ClaimedVolumeSource =
  /** `type` is such as `DirectoryOrCreate`; empty: no check of the path. */
  | { readonly kind: "hostPath"; readonly path: string; readonly type: string }
  /** A folder, or a block device, that an administrator has set up. */
  | { readonly kind: "local"; readonly path: string }
  | { readonly kind: "nfs"; readonly server: string; readonly path: string }
  /** The driver defines the meaning of `options`. */
  | { readonly kind: "flexVolume"; readonly driver: string; readonly options: Readonly<Record<string, string>> }
  /**
   * Any other source; `type` is the field's name, such as `csi`, `driver` the driver's, for types with drivers, and `handle` the driver's id of a
   * CSI volume.
   */
  | { readonly kind: "other"; readonly type: string; readonly driver: string | undefined; readonly handle?: string | undefined };

/** The PersistentVolume behind a pod's volume of type persistentVolumeClaim or ephemeral. */
export interface ClaimedVolume {
  /** Name of the PersistentVolume; unique in the cluster. */
  readonly name: string;
  readonly claim: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly source: ClaimedVolumeSource;
  /** Such as `ReadWriteOnce` and `ReadWriteOncePod`. */
  readonly accessModes: readonly string[];
  /** Whether the pod or the volume itself makes it read-only for all containers. */
  readonly isReadOnly: boolean;
  /** As of mount(8), such as `nfsvers=4.2`. */
  readonly mountOptions: readonly string[];
}
