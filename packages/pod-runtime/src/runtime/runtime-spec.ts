import type { Container, DeepReadonly, Pod, ResolvedEnvVar } from "@virtual-kubelet/core";

/** A line of /etc/hosts. */
export interface HostAlias {
  readonly ip: string;
  readonly hostnames: readonly string[];
}

/** Settings of a pod's DNS resolver. */
export interface DnsSettings {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Everything that a runtime needs to create a sandbox. */
export interface SandboxSpec {
  /** Identity of the sandbox; see {@link podLabels}. The worker adds its own labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Empty for a pod on the node's network, which has the node's host name. */
  readonly hostname: string;
  /** Default: the runtime's own. */
  readonly dns?: DnsSettings | undefined;
  readonly hosts: readonly HostAlias[];
  /**
   * Cgroup of the sandbox and its containers: a path, or the name of a slice with the systemd driver. Default: the runtime's own. Source:
   * `LinuxPodSandboxConfig.cgroup_parent` of cri-api v0.36.3.
   */
  readonly cgroupParent?: string | undefined;
  /** The pod, for fields that only the sandbox uses: host namespaces, host ports, sysctls, runtime class. */
  readonly pod: DeepReadonly<Pod>;
}

/** An image mounted as a volume. Source: `Mount.image` and `Mount.image_sub_path` of cri-api v0.36.3. */
export interface ImageMount {
  /** By content, from {@link RuntimeImage.id}. */
  readonly id: string;
  /** Path within the image: relative, without `..`; empty: everything. If it does not exist, the runtime fails. */
  readonly subPath: string;
}

/** A volume of one of the runtime's own drivers. It is created with the first container that mounts it. */
export interface DriverVolume {
  readonly name: string;
  readonly driver: string;
  /** Options of the driver. */
  readonly options: Readonly<Record<string, string>>;
}

/** A driver's volume in a container. */
export interface DriverVolumeMount extends DriverVolume {
  /** Path within the volume: relative, without `..`; empty: everything. */
  readonly subPath: string;
}

/** A mount: a folder or file of the host, an image, or a driver's volume. */
export interface ContainerMount {
  /** Empty if {@link image} or {@link volume} is set. */
  readonly hostPath: string;
  /** Image to mount in place of a path, always read-only. Only for a runtime with `canMountImages`. */
  readonly image?: ImageMount | undefined;
  /** Volume to mount in place of a path. Only from `VolumeManagerOptions.driverVolume`. */
  readonly volume?: DriverVolumeMount | undefined;
  readonly containerPath: string;
  readonly isReadOnly: boolean;
  /** Whether mounts below it are read-only, too. Requires `isReadOnly`. Default: false. */
  readonly isRecursivelyReadOnly?: boolean | undefined;
  readonly propagation?: "None" | "HostToContainer" | "Bidirectional" | undefined;
}

/** Resource limits of a container. `undefined`: no limit. */
export interface ResourceLimits {
  /** Relative weight, 2 to 262,144. */
  readonly cpuShares?: number | undefined;
  /** Microseconds per {@link cpuPeriodMicros}; at least 1,000. */
  readonly cpuQuotaMicros?: number | undefined;
  readonly cpuPeriodMicros?: number | undefined;
  readonly memoryBytes?: number | undefined;
}

/** Everything that a runtime needs to create a container. It may hold secrets. */
export interface ContainerSpec {
  /** Identity of the container; see {@link containerLabels}. The worker adds its own labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** By content, from {@link RuntimeImage.id}. */
  readonly imageId: string;
  /** Empty: the image's entry point. */
  readonly command: readonly string[];
  /** Empty: the image's arguments, unless there is a command. */
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
