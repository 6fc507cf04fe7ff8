import type { DockerEngine } from "./docker-engine.ts";

/** What an engine says of itself, as far as it matters here. */
export interface EngineFacts {
  /** Its own id; another one means another engine. */
  readonly id: string;
  readonly apiVersion: string;
  /** Such as `28.2.2`. */
  readonly serverVersion: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  /** In Go's words: `amd64`, `arm64`. */
  readonly architecture: string;
  readonly operatingSystem: string;
  /** Such as `6.1.0-18-amd64`. */
  readonly kernelVersion: string;
  /** Folder where it keeps images and containers. */
  readonly rootDirectory: string;
  /** OCI runtimes by name: `runc`, `nvidia`, … */
  readonly runtimes: readonly string[];
  /** `cgroupfs`, `systemd` or `none`. */
  readonly cgroupDriver: string;
  /** `1` or `2`. */
  readonly cgroupVersion: string;
  /** What it can bound and weigh here: it takes a kernel's controllers, and for a rootless engine that they are delegated. */
  readonly controls: EngineControls;
  readonly hasAppArmor: boolean;
  readonly hasSeccomp: boolean;
  readonly isRootless: boolean;
  readonly isPodman: boolean;
}

/** Resources of containers that an engine controls. */
export interface EngineControls {
  readonly memory: boolean;
  readonly swap: boolean;
  readonly cpuQuota: boolean;
  readonly cpuShares: boolean;
  readonly pids: boolean;
}

/** `uname -m` in Go's words. */
const architectures: ReadonlyMap<string, string> = new Map([
  ["x86_64", "amd64"],
  ["aarch64", "arm64"],
  ["armv7l", "arm"],
  ["i686", "386"],
]);

/** Asks an engine what it is. */
export async function readEngineFacts(engine: DockerEngine, signal: AbortSignal): Promise<EngineFacts> {
  const apiVersion = await engine.apiVersion(signal);
  const info = (await engine.json({ method: "GET", path: "/info", what: "ask the Docker engine what it is" }, signal)) as EngineInfo;
  const security = info.SecurityOptions ?? [];
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
    // An engine that does not say is taken to have them: it warns when a container is made.
    controls: {
      memory: info.MemoryLimit ?? true,
      swap: info.SwapLimit ?? true,
      cpuQuota: info.CpuCfsQuota ?? true,
      cpuShares: info.CPUShares ?? true,
      pids: info.PidsLimit ?? true,
    },
    hasSeccomp: info.SecurityOptions === undefined || security.some((option) => option.startsWith("name=seccomp")),
    hasAppArmor: security.some((option) => option.startsWith("name=apparmor")),
    isRootless: security.some((option) => option.startsWith("name=rootless")),
    isPodman: "BuildahVersion" in info || /podman|libpod/i.test(info.InitBinary ?? ""),
  };
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
