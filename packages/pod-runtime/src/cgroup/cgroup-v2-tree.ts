import { dirname, join } from "node:path";
import type { ResourceLimits } from "../runtime/runtime-spec.ts";
import { foldersIn, makeFolder, removeFolders, tryReadSetting, writeSetting, type RemoveFolder } from "./cgroup-folders.ts";
import type { CgroupName } from "./cgroup-names.ts";
import type { CgroupLimits, CgroupTree } from "./cgroup-tree.ts";

/** Cgroups of version 2: one hierarchy for all controllers. */
export class CgroupV2Tree implements CgroupTree {
  readonly #root: string;
  readonly #removeFolder: RemoveFolder | undefined;

  /** @param root - folder of the hierarchy: `/sys/fs/cgroup` */
  constructor(root: string, removeFolder?: RemoveFolder) {
    this.#root = root;
    this.#removeFolder = removeFolder;
  }

  /** As `CgroupTree.make`. */
  async make({ path }: CgroupName): Promise<boolean> {
    const isNew = await makeFolder(join(this.#root, path));
    if (isNew) await this.#delegate(dirname(path), ["cpu", "memory"]);
    return isNew;
  }

  /** As `CgroupTree.tryRead`. */
  async tryRead({ path }: CgroupName): Promise<ResourceLimits | undefined> {
    const folder = join(this.#root, path);
    const [weight, max, memory] = await Promise.all(["cpu.weight", "cpu.max", "memory.max"].map((file) => tryReadSetting(folder, file)));
    if (weight === undefined && memory === undefined) return undefined;
    const [quota = "max", period] = max?.split(" ") ?? [];
    return {
      ...(weight !== undefined && { cpuShares: sharesOf(Number(weight)) }),
      ...(quota !== "max" && { cpuQuotaMicros: Number(quota), cpuPeriodMicros: Number(period) }),
      ...(memory !== undefined && memory !== "max" && { memoryBytes: Number(memory) }),
    };
  }

  /** As `CgroupTree.write`. */
  async write(
    { path }: CgroupName,
    { cpuShares, cpuQuotaMicros, cpuPeriodMicros = 100_000, memoryBytes, processes }: CgroupLimits,
  ): Promise<void> {
    const folder = join(this.#root, path);
    if (cpuShares !== undefined) await writeSetting(folder, "cpu.weight", String(weightOf(cpuShares)));
    if (cpuQuotaMicros !== undefined) await writeSetting(folder, "cpu.max", `${cpuQuotaMicros} ${cpuPeriodMicros}`);
    if (memoryBytes !== undefined) await writeSetting(folder, "memory.max", String(memoryBytes));
    if (processes === undefined || !(await tryReadSetting(this.#root, "cgroup.controllers"))?.split(" ").includes("pids")) return;
    await this.#delegate(dirname(path), ["pids"]);
    await writeSetting(folder, "pids.max", String(processes));
  }

  /** As `CgroupTree.memoryUsage`. */
  async memoryUsage({ path }: CgroupName): Promise<number> {
    return Number((await tryReadSetting(join(this.#root, path), "memory.current")) ?? 0);
  }

  /** As `CgroupTree.children`. */
  children({ path }: CgroupName): Promise<readonly string[]> {
    return foldersIn(join(this.#root, path));
  }

  /** As `CgroupTree.remove`. */
  remove({ path }: CgroupName): Promise<void> {
    return removeFolders(join(this.#root, path), this.#removeFolder);
  }

  /** A cgroup has the controllers that its parent enables for its children. */
  async #delegate(path: string, controllers: readonly string[]): Promise<void> {
    if (path !== "/") await this.#delegate(dirname(path), controllers);
    const folder = join(this.#root, path);
    const held = (await tryReadSetting(folder, "cgroup.subtree_control"))?.split(" ") ?? [];
    const missing = controllers.filter((controller) => !held.includes(controller));
    for (const controller of missing) await writeSetting(folder, "cgroup.subtree_control", `+${controller}`);
  }
}

/**
 * The weight of version 2 for shares of version 1: 1 to 10000.
 * Source: getCPUWeight in kubernetes v1.36.3 pkg/kubelet/cm/cgroup_manager_linux.go.
 */
export function weightOf(shares: number): number {
  return shares >= 262_144 ? 10_000 : 1 + Math.floor(((Math.max(2, shares) - 2) * 9_999) / 262_142);
}

/** The minimum shares with this weight. */
export function sharesOf(weight: number): number {
  return Math.ceil(((weight - 1) * 262_142) / 9_999) + 2;
}
