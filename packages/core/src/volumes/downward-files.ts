import type { Container, DeepReadonly, Pod, PodSpec } from "@virtual-kubelet/kube-client";
import { resolveFieldRef } from "../env/field-ref.ts";
import { resolveResourceFieldRef } from "../env/resource-field-ref.ts";
import { collectAll } from "./collect-all.ts";
import { bytesOfText } from "./key-files.ts";
import type { VolumeFile } from "../provider/volume-payload.ts";

type DownwardItem = DeepReadonly<NonNullable<NonNullable<NonNullable<PodSpec["volumes"]>[number]["downwardAPI"]>["items"]>[number]>;

/** What the files of a downward API volume are made from. */
export interface DownwardContext {
  readonly pod: DeepReadonly<Pod>;
  readonly defaultMode: number;
  /** What the node can give away; it stands for limits that a container does not have. */
  readonly allocatable: Readonly<Record<string, string>> | undefined;
}

/** A reference in a volume always names its container; the API server sees to it. */
const noContainer: DeepReadonly<Container> = { name: "" };

/**
 * The files of a downward API volume.
 * Source: CollectData in kubernetes v1.36.3 pkg/volume/downwardapi/downwardapi.go.
 *
 * @throws InvalidInputError, with all that is wrong
 */
export function downwardFiles(items: readonly DownwardItem[], { pod, defaultMode, allocatable }: DownwardContext): VolumeFile[] {
  return collectAll(items, ({ path, mode = defaultMode, fieldRef, resourceFieldRef }) => {
    if (fieldRef) return { path, mode, content: bytesOfText(resolveFieldRef(fieldRef.fieldPath, pod, { hostIPs: [] })) };
    if (!resourceFieldRef) return { path, mode, content: new Uint8Array() };
    return { path, mode, content: bytesOfText(resolveResourceFieldRef(resourceFieldRef, { pod, container: noContainer, allocatable })) };
  });
}
