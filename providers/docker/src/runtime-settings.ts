import type { CniSettings } from "./network/cni/cni-network.ts";

/** Devices of the host behind one unit of an extended resource. All containers that request it share them. */
export interface DeviceSettings {
  /** Such as `/dev/fuse`. */
  readonly paths: readonly string[];
  /** Number that the node offers. Default: 100. */
  readonly count?: number | undefined;
}

/** Amount of a container's output that is kept. */
export interface LogRotation {
  /** Such as `10m`, in the engine's format. */
  readonly maxSize: string;
  readonly maxFiles: number;
}

/** Settings of the node's administrator for sandboxes and containers. */
export interface DockerRuntimeSettings {
  /** First part of every container name; see {@link "./engine/object-names.ts"}. */
  readonly namePrefix: string;
  readonly sandboxImage: string;
  /** The engine's network for pods. */
  readonly network: string;
  /** Network plugins in place of the engine's networks. Default: none. */
  readonly cni?: CniSettings | undefined;
  /** Folder of the records of network plugins. */
  readonly networkFolder: string;
  /** Cgroup parent of sandboxes whose spec has none. */
  readonly cgroupParent?: string | undefined;
  readonly pidsLimit?: number | undefined;
  readonly log: LogRotation;
  /** OCI runtimes of the engine by `runtimeClassName` of pods. A name that is missing here is the runtime's own name. */
  readonly runtimeClasses: Readonly<Record<string, string>>;
  /** By extended resource. */
  readonly devices: Readonly<Record<string, DeviceSettings>>;
  /** Folder of the seccomp profiles that pods name. */
  readonly seccompFolder: string;
  /** Folder for files of images that are mounted as volumes, for engines that cannot mount images. The engine sees it at the same path. */
  readonly imageFolder: string;
  readonly parallelPulls: number;
  readonly pullProgressTimeoutMs: number;
}
