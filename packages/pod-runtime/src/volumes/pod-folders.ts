import { lstat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasFsCode } from "./fs-code.ts";
import { systemMounts } from "./host-mounts.ts";
import { mountedWithin } from "./mount-table.ts";
import { isFolderName, PodDirectory } from "./pod-directory.ts";
import { removeTree } from "./remove-tree.ts";
import type { VolumesRoot } from "./volumes-root.ts";

/** Prefix of a folder that is being removed. The next program continues the removal. */
const removingPrefix = ".removing-";

/** UIDs of all pods that have a folder, or whose folder is being removed. */
export async function listPodFolders({ path }: VolumesRoot): Promise<ReadonlySet<string>> {
  const names = await Promise.all(["pods", "memory"].map((folder) => readdir(join(path, folder))));
  const uids = names.flat().map((name) => (name.startsWith(removingPrefix) ? name.slice(removingPrefix.length) : name));
  return new Set(uids.filter(isFolderName));
}

/**
 * Unmounts and removes all data of a pod. Idempotent. Mounts that stay are not entered.
 *
 * @throws an Error if something could not be unmounted or removed; call again for the rest
 */
export async function removePodFolder(root: VolumesRoot, uid: string, signal: AbortSignal): Promise<void> {
  const { path, memoryPath } = new PodDirectory(root.path, uid);
  const places = [path, memoryPath].map((folder) => ({ folder, workshop: join(dirname(folder), `${removingPrefix}${uid}`) }));
  const mounts = root.mounts ?? systemMounts;
  const table = await mounts.list();
  for (const { folder, workshop } of places) {
    if (!(await exists(folder)) && !(await exists(workshop))) continue;
    for (const mount of [folder, workshop].flatMap((within) => mountedWithin(table, within))) await mounts.unmount(mount.path);
    await removeTree(folder, workshop, signal);
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => {
      if (hasFsCode(error, "ENOENT")) return false;
      throw error;
    },
  );
}
