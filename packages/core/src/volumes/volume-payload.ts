/** One file of a volume. It may hold a secret: it is never logged, and never sent to the API server. */
export interface VolumeFile {
  /** Where it is in the volume: relative, with `/`, without `.` and `..`. */
  readonly path: string;
  /** Permission bits, such as `0o644`. A volume with an `fsGroup` adds the group's read bit when it is written. */
  readonly mode: number;
  readonly content: Uint8Array;
  /** User who has to own the file; absent: root. Only tokens and trust bundles name one: that of all the pod's containers. */
  readonly uid?: number | undefined;
}

/** All that a volume holds, sorted by path. Files that are not in it are to be removed. */
export interface VolumePayload {
  readonly files: readonly VolumeFile[];
}

/** Whether two payloads would be the same on a disk. */
export function isSamePayload(a: VolumePayload, b: VolumePayload): boolean {
  if (a.files.length !== b.files.length) return false;
  return a.files.every((file, index) => {
    const other = b.files[index];
    return (
      other !== undefined &&
      file.path === other.path &&
      file.mode === other.mode &&
      file.uid === other.uid &&
      Buffer.compare(file.content, other.content) === 0
    );
  });
}
