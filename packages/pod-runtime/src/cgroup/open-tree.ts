import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { RemoveFolder } from "./cgroup-folders.ts";
import type { CgroupDriver } from "./cgroup-names.ts";
import type { CgroupTree } from "./cgroup-tree.ts";
import { CgroupV1Tree } from "./cgroup-v1-tree.ts";
import { CgroupV2Tree } from "./cgroup-v2-tree.ts";
import { SystemdSlices, type Systemctl } from "./systemd-slices.ts";
import { v1Hierarchies } from "./v1-hierarchies.ts";

export interface OpenTreeOptions {
  /** The machine's cgroup file system: `/sys/fs/cgroup`. */
  readonly root: string;
  readonly driver: CgroupDriver;
  readonly removeFolder?: RemoveFolder | undefined;
  readonly systemctl?: Systemctl | undefined;
}

/** The machine's cgroups, or the reason why they cannot be used, as part of a sentence. */
export type OpenedTree = { readonly tree: CgroupTree } | { readonly problem: string };

/** Finds the version of the machine's cgroups, and checks that they are the machine's own and writable. Never rejects. */
export async function openTree({ root, driver, removeFolder, systemctl }: OpenTreeOptions): Promise<OpenedTree> {
  try {
    const found = await findFiles(root, removeFolder);
    if ("problem" in found) return found;
    const { files, version, folders } = found;
    if (driver === "systemd") {
      const slices = new SystemdSlices({ files, version, systemctl });
      await slices.check();
      return { tree: slices };
    }
    for (const folder of folders) await access(folder, constants.W_OK);
    return { tree: files };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

type Found = { readonly files: CgroupTree; readonly version: 1 | 2; readonly folders: readonly string[] } | { readonly problem: string };

async function findFiles(root: string, removeFolder: RemoveFolder | undefined): Promise<Found> {
  const problem = `the cgroups at ${root} are not the machine's: this program has some of its own`;
  if (await exists(join(root, "cgroup.controllers"))) {
    // In version 2 only the root cgroup has no type.
    if (await exists(join(root, "cgroup.type"))) return { problem };
    return { files: new CgroupV2Tree(root, removeFolder), version: 2, folders: [root] };
  }
  const hierarchies = v1Hierarchies(root);
  const [cpu, memory] = [hierarchies.get("cpu"), hierarchies.get("memory")];
  if (cpu === undefined || memory === undefined) return { problem: `there are no cgroups for CPU and memory at ${root}` };
  const folders = [join(root, cpu), join(root, memory)];
  // In version 1 only the root cgroup of a hierarchy has a release agent.
  for (const folder of folders) if (!(await exists(join(folder, "release_agent")))) return { problem };
  return { files: new CgroupV1Tree(root, { cpu, memory, pids: hierarchies.get("pids") }, removeFolder), version: 1, folders };
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
