import type { ClaimedVolume } from "@virtual-kubelet/core";
import type { DriverVolume } from "../runtime/runtime-spec.ts";
import type { VolumeSource } from "./volume-source.ts";

/** Source of a volume that is ready. */
type ReadySource =
  | Exclude<VolumeSource, { readonly kind: "claim" }>
  | { readonly kind: "claim"; readonly of: ClaimedVolume["source"]["kind"]; readonly claim: ClaimedVolume["claim"] };

/** A volume that is ready to be mounted. */
export interface ReadyVolume {
  readonly source: ReadySource;
  /** Its folder, or a path of the node. */
  readonly path: string;
  /** Whether it is a tmpfs of its own. */
  readonly isMemory: boolean;
  /** Maximum size in bytes that the size watch checks. */
  readonly watchedLimitBytes: number | undefined;
  /** Folders of the node that allow the path. Default: the pod's own folder. */
  readonly nodePaths?: readonly string[] | undefined;
  /** Volume that the runtime mounts in place of the path, which is empty then. */
  readonly driverVolume?: DriverVolume | undefined;
  /** Whether containers can only read it. Default: false. */
  readonly isReadOnly?: boolean | undefined;
}
