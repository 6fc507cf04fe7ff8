import type { DockerEngine } from "./docker-engine.ts";

/** Facts about an engine. */
export interface EngineFacts {
  /** The engine's id, which identifies it. */
  readonly id: string;
  readonly apiVersion: string;
  /** Such as `28.2.2`. */
  readonly serverVersion: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Go's name: `amd64`, `arm64`. */
  readonly architecture: string;
  readonly operatingSystem: string;
  /** Such as `6.1.0-18-amd64`. */
  readonly kernelVersion: string;
  /** Folder of its images and containers. */
  readonly rootDirectory: string;
  /** OCI runtimes by name: `runc`, `nvidia`, … */
  readonly runtimes: readonly string[];
  /** `cgroupfs`, `systemd` or `none`. */
  readonly cgroupDriver: string;
  /** `1` or `2`. */
  readonly cgroupVersion: string;
  /** Resources that it can control. That depends on the kernel's controllers, and for a rootless engine on their delegation. */
  readonly controls: EngineControls;
  readonly hasAppArmor: boolean;
  readonly hasSeccomp: boolean;
  readonly isRootless: boolean;
  readonly isPodman: boolean;
}

/** Resources of containers that an engine controls. */
interface EngineControls {
  readonly memory: boolean;
  readonly swap: boolean;
  readonly cpuQuota: boolean;
  readonly cpuShares: boolean;
  readonly pids: boolean;
}

/** `uname -m` ▶ Go's name. */
const architectures: ReadonlyMap<string, string> = new Map([
  ["x86_64", "amd64"],
  ["aarch64", "arm64"],
  ["armv7l", "arm"],
  ["i686", "386"],
]);

/** Requests the facts. */
export async function readEngineFacts(engine: DockerEngine, signal: AbortSignal): Promise<EngineFacts> {
  const apiVersion = await engine.apiVersion(signal);
  const info = (await engine.json({ method: "GET", path: "/info", what: "ask the Docker engine what it is" }, signal)) as EngineInfo;
  const machine = info.Architecture ?? "";
  return {
    id: info.ID ?? "",
    apiVersion,
    serverVersion: info.ServerVersion ?? "",
    cpus: info.NCPU ?? 0,
    memoryBytes: info.MemTotal ?? 0,
    architecture: architectures.get(machine) ?? machine,
    operatingSystem: info.OperatingSystem ?? "",
    kernelVersion: info.KernelVersion ?? "",
    rootDirectory: info.DockerRootDir ?? "",
    runtimes: Object.keys(info.Runtimes ?? {}),
    cgroupDriver: info.CgroupDriver ?? "",
    cgroupVersion: info.CgroupVersion ?? "",
    controls: controlsOf(info),
    ...securityOf(info),
    isPodman: "BuildahVersion" in info || /podman|libpod/i.test(info.InitBinary ?? ""),
  };
}

/** An engine that does not report a controller is assumed to have it. It warns when a container is created. */
function controlsOf(info: EngineInfo): EngineControls {
  return {
    memory: info.MemoryLimit ?? true,
    swap: info.SwapLimit ?? true,
    cpuQuota: info.CpuCfsQuota ?? true,
    cpuShares: info.CPUShares ?? true,
    pids: info.PidsLimit ?? true,
  };
}

/** An engine that reports no security options at all is assumed to have seccomp. */
function securityOf({ SecurityOptions: options }: EngineInfo): Pick<EngineFacts, "hasSeccomp" | "hasAppArmor" | "isRootless"> {
  const has = (name: string): boolean => options?.some((option) => option.startsWith(`name=${name}`)) ?? false;
  return { hasSeccomp: options === undefined || has("seccomp"), hasAppArmor: has("apparmor"), isRootless: has("rootless") };
}

interface EngineInfo {
  readonly ID?: string;
  readonly ServerVersion?: string;
  readonly NCPU?: number;
  readonly MemTotal?: number;
  readonly Architecture?: string;
  readonly OperatingSystem?: string;
  readonly KernelVersion?: string;
  readonly DockerRootDir?: string;
  readonly Runtimes?: Readonly<Record<string, unknown>>;
  readonly CgroupDriver?: string;
  readonly CgroupVersion?: string;
  readonly MemoryLimit?: boolean;
  readonly SwapLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly CPUShares?: boolean;
  readonly PidsLimit?: boolean;
  readonly SecurityOptions?: readonly string[] | null;
  readonly InitBinary?: string;
}
