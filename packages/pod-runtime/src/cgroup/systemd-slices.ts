import { hasFsCode } from "../volumes/fs-code.ts";
import { runTool, type ToolResult } from "../volumes/run-tool.ts";
import type { ResourceLimits } from "../runtime/runtime-spec.ts";
import type { CgroupName } from "./cgroup-names.ts";
import type { CgroupLimits, CgroupTree } from "./cgroup-tree.ts";
import { weightOf } from "./cgroup-v2-tree.ts";

/** Runs `systemctl`. */
export type Systemctl = (args: readonly string[]) => Promise<ToolResult>;

export interface SystemdSlicesOptions {
  /** The same cgroups as files, which are only read. */
  readonly files: Pick<CgroupTree, "tryRead" | "memoryUsage" | "children">;
  readonly version: 1 | 2;
  readonly systemctl?: Systemctl | undefined;
}

/**
 * Slices of systemd. Only systemd may write them: limits are set by `systemctl set-property --runtime`, which also works for a slice that
 * starts later, with its first container. Without systemctl no limits are set.
 */
export class SystemdSlices implements CgroupTree {
  readonly #files: SystemdSlicesOptions["files"];
  readonly #version: 1 | 2;
  readonly #systemctl: Systemctl;

  constructor({ files, version, systemctl = (args) => runTool("systemctl", { args }) }: SystemdSlicesOptions) {
    this.#files = files;
    this.#version = version;
    this.#systemctl = systemctl;
  }

  /** Checks that systemd answers. @throws an Error with the reason */
  async check(): Promise<void> {
    await this.#run(["show", "--property=Version"]);
  }

  /** As `CgroupTree.make`. systemd creates the cgroup with the slice's first limit, and starts the slice with its first container. */
  async make(name: CgroupName): Promise<boolean> {
    return (await this.#files.tryRead(name)) === undefined;
  }

  /** As `CgroupTree.tryRead`. */
  tryRead(name: CgroupName): Promise<ResourceLimits | undefined> {
    return this.#files.tryRead(name);
  }

  /** As `CgroupTree.write`. */
  async write({ parent }: CgroupName, limits: CgroupLimits): Promise<void> {
    const properties = slicePropertiesOf(limits, this.#version);
    if (properties.length > 0) await this.#run(["set-property", "--runtime", parent, ...properties]);
  }

  /** As `CgroupTree.memoryUsage`. */
  memoryUsage(name: CgroupName): Promise<number> {
    return this.#files.memoryUsage(name);
  }

  /** As `CgroupTree.children`. */
  children(name: CgroupName): Promise<readonly string[]> {
    return this.#files.children(name);
  }

  /**
   * As `CgroupTree.remove`. A slice that is not empty is left, because stopping it would kill its processes.
   *
   * The slice is started first: `set-property` creates the cgroup of a slice that is not started, as of a pod that never had a container, and
   * `stop` removes only the cgroup of a started one. Source: the recording of systemd 252 that the tests replay.
   */
  async remove(name: CgroupName): Promise<void> {
    if ((await this.#files.children(name)).length > 0)
      throw Object.assign(new Error(`stop slice ${name.parent}: there is something in it`), { code: "EBUSY" });
    await this.#run(["start", name.parent]);
    await this.#run(["stop", name.parent]);
    await this.#run(["revert", name.parent]);
  }

  async #run(args: readonly string[]): Promise<void> {
    const command = `systemctl ${args.join(" ")}`;
    const { exitCode, stderr } = await this.#systemctl(args).catch((error: unknown) => {
      throw hasFsCode(error, "ENOENT") ? new Error(`${command}: there is no such program here`, { cause: error }) : error;
    });
    if (exitCode !== 0) throw new Error(`${command}: exit code ${exitCode}: ${stderr.trim()}`);
  }
}

/**
 * Limits as properties of a slice. systemd keeps CPU quotas in whole percents, and refuses 0 bytes and 0 processes, for which it gets 1.
 * Source: genV1ResourcesProperties, genV2ResourcesProperties and addCPUQuota in opencontainers/cgroups v0.0.6 systemd.
 */
export function slicePropertiesOf(
  { cpuShares, cpuQuotaMicros, cpuPeriodMicros = 100_000, memoryBytes, processes }: CgroupLimits,
  version: 1 | 2,
): string[] {
  return [
    ...(cpuShares === undefined ? [] : [version === 1 ? `CPUShares=${cpuShares}` : `CPUWeight=${weightOf(cpuShares)}`]),
    ...(cpuQuotaMicros === undefined ? [] : [`CPUQuota=${Math.ceil((cpuQuotaMicros * 100) / cpuPeriodMicros)}%`]),
    ...(memoryBytes === undefined ? [] : [`${version === 1 ? "MemoryLimit" : "MemoryMax"}=${Math.max(1, memoryBytes)}`]),
    ...(processes === undefined ? [] : [`TasksMax=${Math.max(1, processes)}`]),
  ];
}
