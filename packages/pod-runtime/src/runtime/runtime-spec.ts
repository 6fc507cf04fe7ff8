import type { Container, DeepReadonly, Pod, ResolvedEnvVar } from "@virtual-kubelet/core";

/** One entry of a pod's `/etc/hosts`. */
export interface HostAlias {
  readonly ip: string;
  readonly hostnames: readonly string[];
}

/** What a pod's resolver is to ask. */
export interface DnsSettings {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** All a runtime needs to make a sandbox. Nothing in it has to be looked up. */
export interface SandboxSpec {
  /** Names the sandbox and finds it again; see {@link podLabels}. The worker adds its own to what is here. */
  readonly labels: Readonly<Record<string, string>>;
  /** Empty for a pod on the node's network: it has the node's. */
  readonly hostname: string;
  /** Absent: the runtime's own. */
  readonly dns?: DnsSettings | undefined;
  readonly hosts: readonly HostAlias[];
  /**
   * The cgroup that the sandbox and all its containers are put in: a path, or the name of a slice with the systemd driver. Absent:
   * the runtime's own. Source: `LinuxPodSandboxConfig.cgroup_parent` of cri-api v0.36.3.
   */
  readonly cgroupParent?: string | undefined;
  /** The pod, for what only the sandbox takes: host namespaces, host ports, sysctls, runtime class. */
  readonly pod: DeepReadonly<Pod>;
}

/** Files of an image in a container, as a volume of the pod. Source: `Mount.image` and `Mount.image_sub_path` of cri-api v0.36.3. */
export interface ImageMount {
  /** By content, as {@link RuntimeImage.id} gave it. */
  readonly id: string;
  /** Which part of it: relative, without `..`; empty: all. A part that is not there is an error of the runtime's. */
  readonly subPath: string;
}

/** A volume that the runtime has of a driver of its own; made, if it is not there, when a container is. */
export interface DriverVolume {
  readonly name: string;
  readonly driver: string;
  /** They mean what the driver says. */
  readonly options: Readonly<Record<string, string>>;
}

/** A volume of a driver in a container. */
export interface DriverVolumeMount extends DriverVolume {
  /** Which part of it: relative, without `..`; empty: all. */
  readonly subPath: string;
}

/** A folder or file of the host in a container, the files of an image, or a volume of a driver. */
export interface ContainerMount {
  /** Empty with {@link image} and {@link volume}. */
  readonly hostPath: string;
  /** What is mounted instead of a path of the host, always read-only; only for a runtime that has `canMountImages`. */
  readonly image?: ImageMount | undefined;
  /** What is mounted instead of a path of the host; only where `VolumeManagerOptions.driverVolume` gives it. */
  readonly volume?: DriverVolumeMount | undefined;
  readonly containerPath: string;
  readonly isReadOnly: boolean;
  /** Whether all that is mounted below is to be read-only, too; only with `isReadOnly`. Default `false`. */
  readonly isRecursivelyReadOnly?: boolean | undefined;
  readonly propagation?: "None" | "HostToContainer" | "Bidirectional" | undefined;
}

/** What a container may use. Absent: without limit. */
export interface ResourceLimits {
  /** Relative weight, 2 to 262144. */
  readonly cpuShares?: number | undefined;
  /** Microseconds of each {@link cpuPeriodMicros}; at least 1000. */
  readonly cpuQuotaMicros?: number | undefined;
  readonly cpuPeriodMicros?: number | undefined;
  readonly memoryBytes?: number | undefined;
}

/** All a runtime needs to make a container. Nothing in it has to be looked up. It may hold secrets. */
export interface ContainerSpec {
  /** Names the container and finds it again; see {@link containerLabels}. The worker adds its own to what is here. */
  readonly labels: Readonly<Record<string, string>>;
  /** By content, as {@link RuntimeImage.id} gave it. */
  readonly imageId: string;
  /** Empty: the image's. */
  readonly command: readonly string[];
  /** Empty: the image's, unless there is a command. */
  readonly args: readonly string[];
  readonly environment: readonly ResolvedEnvVar[];
  readonly mounts: readonly ContainerMount[];
  readonly limits: ResourceLimits;
  /** -1000 to 1000; the kernel kills the highest first. */
  readonly oomScoreAdjustment: number;
  /** The pod, for what the rest leaves out: security contexts, devices, shared namespaces. */
  readonly pod: DeepReadonly<Pod>;
  /** The container in it, for its working folder, `tty`, `stdin`, `stdinOnce`, security context. */
  readonly container: DeepReadonly<Container>;
  /** Container whose process namespace an ephemeral container joins. */
  readonly targetContainerId?: string | undefined;
}
