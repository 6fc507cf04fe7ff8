/** One file of a volume. It may hold a secret: it is never logged, and never sent to the API server. */
export interface VolumeFile {
  /** Path in the volume: relative, with `/`, without `.` and `..`. */
  readonly path: string;
  /** Permission bits, such as `0o644`. In a volume with an `fsGroup` the group's read bit is added when the file is written. */
  readonly mode: number;
  readonly content: Uint8Array;
  /** User who has to own the file; default: root. Set only for tokens and trust bundles, to the user of all containers of the pod. */
  readonly uid?: number | undefined;
}

/** All files of a volume, sorted by path. Files that are not listed have to be removed. */
export interface VolumePayload {
  readonly files: readonly VolumeFile[];
}
