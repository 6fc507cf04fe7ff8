/** Source of a far pod's volume that stands for a volume of a home claim. */
export type FarVolumeSource =
  | { readonly persistentVolumeClaim: { readonly claimName: string; readonly readOnly?: boolean | undefined } }
  | { readonly nfs: { readonly server: string; readonly path: string; readonly readOnly?: boolean | undefined } };

/** Far sources of a pod's volumes of type persistentVolumeClaim and ephemeral, by the volume's name. */
export type FarVolumeSources = ReadonlyMap<string, FarVolumeSource>;
