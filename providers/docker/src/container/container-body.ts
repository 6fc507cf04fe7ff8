import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { labelNames, type ContainerSpec } from "@virtual-kubelet/pod-runtime";
import type { ContainerCreateOptions, HostConfig } from "dockerode";
import { containerMounts } from "./container-mounts.ts";
import { containerUser } from "./container-user.ts";
import { securityOptions, type Confinement } from "./security-options.ts";
import { dockerLabels } from "../engine/object-names.ts";
import type { EngineFacts } from "../engine/engine-facts.ts";
import type { LogRotation } from "../runtime-settings.ts";

export interface ContainerBodyOptions {
  readonly sandboxId: string;
  readonly engine: Pick<EngineFacts, "apiVersion" | "hasAppArmor" | "isPodman">;
  /** The image's user, if {@link "./container-user.ts"} needs it. */
  readonly imageUser?: string | undefined;
  readonly seccompProfile?: Confinement["seccompProfile"];
  /** Ids of the container's GPUs. */
  readonly gpus: readonly string[];
  /** Ids of the images that it mounts. */
  readonly volumeImages?: readonly string[] | undefined;
  /** Devices of the host for its extended resources. */
  readonly devices: readonly string[];
  /** Whether the engine may set a score below 0. If not, 0 is the minimum. */
  readonly canLowerOomScore: boolean;
  readonly cgroupParent?: string | undefined;
  /** Maximum number of processes. */
  readonly pidsLimit?: number | undefined;
  /** The engine's OCI runtime. Default: the engine's default. */
  readonly runtime?: string | undefined;
  readonly log: LogRotation;
}

/**
 * The engine's body for a container in a sandbox. Because it joins the sandbox's network, it has no hostname, DNS settings or ports. The
 * engine's restarts, health checks and init process are off, because pod-runtime does that work.
 *
 * @throws InvalidInputError for a security context that cannot be applied
 */
export function containerBody(spec: ContainerSpec, options: ContainerBodyOptions): ContainerCreateOptions {
  const { container, pod } = spec;
  const { volumeImages = [] } = options;
  const { user, groups } = containerUser(pod, container, options.imageUser ?? "");
  return {
    Image: spec.imageId,
    ...(spec.command.length > 0 && { Entrypoint: [...spec.command] }),
    // Without an explicit Cmd, podman passes the image's arguments to a given command.
    ...((spec.args.length > 0 || spec.command.length > 0) && { Cmd: [...spec.args] }),
    Env: spec.environment.map(({ name, value }) => `${name}=${value}`),
    ...(container.workingDir && { WorkingDir: container.workingDir }),
    ...(user !== "" && { User: user }),
    Labels: {
      ...unsaid,
      ...spec.labels,
      [labelNames.sandboxId]: options.sandboxId,
      [dockerLabels.image]: container.image ?? "",
      [dockerLabels.imageId]: spec.imageId,
      [dockerLabels.gpus]: options.gpus.join(","),
      ...(volumeImages.length > 0 && { [dockerLabels.volumeImages]: volumeImages.join(",") }),
    },
    Tty: container.tty ?? false,
    OpenStdin: container.stdin ?? false,
    StdinOnce: container.stdinOnce ?? false,
    AttachStdin: (container.stdin ?? false) && (container.stdinOnce ?? false),
    ...(container.lifecycle?.stopSignal && { StopSignal: container.lifecycle.stopSignal }),
    Healthcheck: { Test: ["NONE"] },
    HostConfig: { ...hostConfig(spec, options), GroupAdd: [...groups] },
  };
}

/** An image's labels are inherited. Empty values keep an image from setting labels of ours. */
const unsaid: Readonly<Record<string, string>> = { [labelNames.resources]: "", [labelNames.lifecycle]: "" };

function hostConfig(spec: ContainerSpec, options: ContainerBodyOptions): HostConfig {
  return {
    ...namespaces(spec, options),
    RestartPolicy: { Name: "no" },
    Init: false,
    LogConfig: logConfig(options.log),
    ...(options.cgroupParent && { CgroupParent: options.cgroupParent }),
    ...(options.runtime && { Runtime: options.runtime }),
    ...resources(spec, options),
    ...security(spec, options),
    Mounts: containerMounts(spec.mounts, options.engine.apiVersion),
    ...devices(options),
  };
}

/** Namespaces that the container shares with its pod or with the host. */
function namespaces({ pod, targetContainerId }: ContainerSpec, { sandboxId, engine }: ContainerBodyOptions): HostConfig {
  return {
    NetworkMode: `container:${sandboxId}`,
    IpcMode: pod.spec?.hostIPC ? "host" : `container:${sandboxId}`,
    PidMode: pidMode(pod, sandboxId, targetContainerId),
    // podman gives each container its own hostname; in Docker the hostname comes with the network.
    ...(engine.isPodman && { UTSMode: pod.spec?.hostNetwork ? "host" : `container:${sandboxId}` }),
  };
}

function resources({ limits, oomScoreAdjustment }: ContainerSpec, { canLowerOomScore, pidsLimit }: ContainerBodyOptions): HostConfig {
  const { cpuShares, cpuQuotaMicros, cpuPeriodMicros = 100_000, memoryBytes = 0 } = limits;
  return {
    ...(cpuShares !== undefined && { CpuShares: cpuShares }),
    ...(cpuQuotaMicros !== undefined && { CpuPeriod: cpuPeriodMicros, CpuQuota: cpuQuotaMicros }),
    // Equal to memory: no swap. The default would allow as much swap as memory.
    ...(memoryBytes > 0 && { Memory: memoryBytes, MemorySwap: memoryBytes }),
    OomScoreAdj: canLowerOomScore ? oomScoreAdjustment : Math.max(0, oomScoreAdjustment),
    ...(pidsLimit !== undefined && { PidsLimit: pidsLimit }),
  };
}

function security({ pod, container }: ContainerSpec, { engine: { hasAppArmor }, seccompProfile }: ContainerBodyOptions): HostConfig {
  const { privileged = false, readOnlyRootFilesystem = false, procMount, capabilities } = container.securityContext ?? {};
  return {
    Privileged: privileged,
    CapAdd: (capabilities?.add ?? []).map(capability),
    CapDrop: (capabilities?.drop ?? []).map(capability),
    SecurityOpt: securityOptions(pod, container, { hasAppArmor, seccompProfile }),
    ReadonlyRootfs: readOnlyRootFilesystem,
    ...(procMount === "Unmasked" && { MaskedPaths: [], ReadonlyPaths: [] }),
  };
}

function devices({ devices: paths, gpus }: ContainerBodyOptions): HostConfig {
  return {
    ...(paths.length > 0 && {
      Devices: paths.map((path) => ({ PathOnHost: path, PathInContainer: path, CgroupPermissions: "rwm" })),
    }),
    ...(gpus.length > 0 && { DeviceRequests: [{ Driver: "nvidia", DeviceIDs: [...gpus], Capabilities: [["gpu"]] }] }),
  };
}

/**
 * The engine's log settings: rotated files that the engine can read back. Options that are left out come from the engine's own `log-opts`, if
 * `json-file` is its default driver.
 */
export function logConfig({ maxSize, maxFiles }: LogRotation): { Type: string; Config: Record<string, string> } {
  const Config: Record<string, string> = { "max-size": maxSize, "max-file": String(maxFiles) };
  // The engine does not start a container that has one file and `compress`. Source: moby v20.10 daemon/logger/jsonfilelog `New`.
  if (maxFiles === 1) Config["compress"] = "false";
  return { Type: "json-file", Config };
}

/** A capability in the form that all engines accept, without `CAP_`. */
function capability(name: string): string {
  return name.replace(/^CAP_/, "");
}

function pidMode({ spec }: DeepReadonly<Pod>, sandboxId: string, targetContainerId: string | undefined): string {
  if (spec?.hostPID) return "host";
  if (targetContainerId !== undefined) return `container:${targetContainerId}`;
  return spec?.shareProcessNamespace ? `container:${sandboxId}` : "";
}
