import { join } from "node:path";
import type { ResourceLimits } from "../runtime/runtime-spec.ts";
import { foldersIn, makeFolder, removeFolders, tryReadSetting, writeSetting, type RemoveFolder } from "./cgroup-folders.ts";
import type { CgroupName } from "./cgroup-names.ts";
import type { CgroupLimits, CgroupTree } from "./cgroup-tree.ts";

/** The kernel reports a value above any machine's memory if there is no limit. */
const noMemoryLimit = 2 ** 62;

/** Cgroups of version 1: a hierarchy for each controller, in a folder with its name. */
export class CgroupV1Tree implements CgroupTree {
  readonly #root: string;
  readonly #removeFolder: RemoveFolder | undefined;
  readonly #cpu: string;
  readonly #memory: string;
  readonly #pids: string | undefined;

  /**
   * @param root - folder of the hierarchies: `/sys/fs/cgroup`
   * @param controllers - folders of the controllers, such as `cpu,cpuacct`. Without `pids`, the number of processes is not limited
   */
  constructor(
    root: string,
    controllers: { readonly cpu: string; readonly memory: string; readonly pids?: string | undefined },
    removeFolder?: RemoveFolder,
  ) {
    this.#root = root;
    this.#removeFolder = removeFolder;
    this.#cpu = join(root, controllers.cpu);
    this.#memory = join(root, controllers.memory);
    this.#pids = controllers.pids === undefined ? undefined : join(root, controllers.pids);
  }

  /** As `CgroupTree.make`. */
  async make({ path }: CgroupName): Promise<boolean> {
    const [isNew] = await Promise.all([makeFolder(join(this.#cpu, path)), makeFolder(join(this.#memory, path))]);
    return isNew;
  }

  /** As `CgroupTree.tryRead`. */
  async tryRead({ path }: CgroupName): Promise<ResourceLimits | undefined> {
    const cpu = join(this.#cpu, path);
    const [shares, quota, memory] = await Promise.all([
      tryReadSetting(cpu, "cpu.shares"),
      tryReadSetting(cpu, "cpu.cfs_quota_us"),
      tryReadSetting(join(this.#memory, path), "memory.limit_in_bytes"),
    ]);
    if (shares === undefined && memory === undefined) return undefined;
    return {
      ...(shares !== undefined && { cpuShares: Number(shares) }),
      ...(Number(quota) > 0 && { cpuQuotaMicros: Number(quota) }),
      ...(Number(memory) < noMemoryLimit && { memoryBytes: Number(memory) }),
    };
  }

  /** As `CgroupTree.write`. */
  async write({ path }: CgroupName, { cpuShares, cpuQuotaMicros, cpuPeriodMicros, memoryBytes, processes }: CgroupLimits): Promise<void> {
    const cpu = join(this.#cpu, path);
    if (cpuShares !== undefined) await writeSetting(cpu, "cpu.shares", String(cpuShares));
    if (cpuPeriodMicros !== undefined) await writeSetting(cpu, "cpu.cfs_period_us", String(cpuPeriodMicros));
    if (cpuQuotaMicros !== undefined) await writeSetting(cpu, "cpu.cfs_quota_us", String(cpuQuotaMicros));
    if (memoryBytes !== undefined) await writeSetting(join(this.#memory, path), "memory.limit_in_bytes", String(memoryBytes));
    if (processes === undefined || this.#pids === undefined) return;
    await makeFolder(join(this.#pids, path));
    await writeSetting(join(this.#pids, path), "pids.max", String(processes));
  }

  /** As `CgroupTree.memoryUsage`. */
  async memoryUsage({ path }: CgroupName): Promise<number> {
    return Number((await tryReadSetting(join(this.#memory, path), "memory.usage_in_bytes")) ?? 0);
  }

  /** As `CgroupTree.children`. */
  async children({ path }: CgroupName): Promise<readonly string[]> {
    const found = await Promise.all((await this.#hierarchies()).map((hierarchy) => foldersIn(join(hierarchy, path))));
    return [...new Set(found.flat())];
  }

  /** As `CgroupTree.remove`. */
  async remove({ path }: CgroupName): Promise<void> {
    for (const hierarchy of await this.#hierarchies()) await removeFolders(join(hierarchy, path), this.#removeFolder);
  }

  /** All hierarchies, because a runtime creates its cgroups in each. Other names of a hierarchy are links, not folders. */
  async #hierarchies(): Promise<readonly string[]> {
    return (await foldersIn(this.#root)).map((name) => join(this.#root, name));
  }
}
