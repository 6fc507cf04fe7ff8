import type { VolumePayload } from "../provider/volume-payload.ts";

/** Whether two payloads result in the same files on a disk. */
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
