import type { LogRotation } from "./container/container-body.ts";
import type { CniSettings } from "./network/cni/cni-network.ts";

/** Devices of the host that one unit of an extended resource stands for. All who ask for it share them. */
export interface DeviceSettings {
  /** Such as `/dev/fuse`. */
  readonly paths: readonly string[];
  /** How many the node offers; default 100. */
  readonly count?: number | undefined;
}

/** What a node's administrator settles about sandboxes and containers at the engine. */
export interface DockerRuntimeSettings {
  /** First part of every name; see {@link "./object-names.ts"}. */
  readonly namePrefix: string;
  readonly sandboxImage: string;
  /** The engine's network that pods are on. */
  readonly network: string;
  /** Network plugins in place of the engine's networks; absent: none. */
  readonly cni?: CniSettings | undefined;
  /** Where it is kept what network plugins were called for. */
  readonly networkFolder: string;
  /** Parent of sandboxes whose spec names none. */
  readonly cgroupParent?: string | undefined;
  readonly pidsLimit?: number | undefined;
  readonly log: LogRotation;
  /** The engine's OCI runtimes by the `runtimeClassName` of pods; one that is not there is the runtime's own name. */
  readonly runtimeClasses: Readonly<Record<string, string>>;
  /** By extended resource. */
  readonly devices: Readonly<Record<string, DeviceSettings>>;
  /** Folder of the seccomp profiles that pods name. */
  readonly seccompFolder: string;
  /** Where files of images are kept that are volumes, for engines that cannot mount images; the engine sees it at the same path. */
  readonly imageFolder: string;
  readonly parallelPulls: number;
  readonly pullProgressTimeoutMs: number;
}
