import { dockerLabels } from "../engine/object-names.ts";

/** Ids of the images that a container mounts, from its labels. */
export function volumeImagesOf(labels: Readonly<Record<string, string>>): readonly string[] {
  return (labels[dockerLabels.volumeImages] ?? "").split(",").filter((id) => /^sha256:[0-9a-f]{64}$/.test(id));
}
