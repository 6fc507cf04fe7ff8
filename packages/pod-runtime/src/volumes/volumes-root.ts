import { readdir, realpath, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory, type Logger } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { HostMounts } from "./host-mounts.ts";
import { mountedAt } from "./mount-table.ts";

/** The folder of all pods' folders, ready to be used. */
export interface VolumesRoot {
  /** With its links resolved. */
  readonly path: string;
  /** How to mount; absent where the program may not, or the runtime would not see it. */
  readonly mounts: HostMounts | undefined;
}

/** The folder below a root that is mounted in memory, where that can be. */
export function memoryFolder(root: string): string {
  return join(root, "memory");
}

/** What {@link openRoot} needs. */
export interface OpenRootOptions {
  readonly path: string;
  readonly mounts: HostMounts;
  /** Whether the runtime sees what this program mounts. */
  readonly isMountSeen: boolean;
  readonly logger: Logger;
}

/**
 * Makes the folders of a root, and mounts the one for secrets in memory. One mount serves all pods: a mount each would
 * double what a pod costs.
 */
export async function openRoot({ path, mounts, isMountSeen, logger }: OpenRootOptions): Promise<VolumesRoot> {
  await makeDirectory(join(path, "pods"), 0o750);
  await makeDirectory(memoryFolder(path), 0o700);
  const root = await realpath(path);
  const memory = memoryFolder(root);
  if (!isMountSeen) return { path: root, mounts: undefined };
  if (mountedAt(await mounts.list(), memory)) return { path: root, mounts };
  try {
    // What is in it must not reach a swap file; older systems do not know the word.
    await mounts.mountTmpfs(memory, ["mode=0700", "noswap"]).catch(() => mounts.mountTmpfs(memory, ["mode=0700"]));
    return { path: root, mounts };
  } catch (error) {
    logger.warn(
      { path: memory, reason: messageOf(error) },
      "nothing can be mounted, which takes root with CAP_SYS_ADMIN: secrets and volumes with medium Memory are on the disk",
    );
    return { path: root, mounts: undefined };
  }
}

/** Unmounts the folder for secrets where no pod has anything in it; what pods have stays for the next program. */
export async function closeRoot({ path, mounts }: VolumesRoot): Promise<void> {
  const memory = memoryFolder(path);
  if (!mounts || !mountedAt(await mounts.list(), memory) || (await readdir(memory)).length > 0) return;
  await mounts.unmount(memory);
}

/** A folder on which something is mounted until it is disposed. */
export interface MountedFolder extends AsyncDisposable {
  readonly path: string;
}

/**
 * Mounts an empty file system, for the runtime to look whether it sees it: it may see what an earlier program has mounted, and
 * nothing that this one mounts in a mount namespace of its own. `undefined` where nothing is mounted.
 */
export async function mountAnew({ path, mounts }: VolumesRoot): Promise<MountedFolder | undefined> {
  if (!mounts) return undefined;
  const folder = join(path, "mount-check");
  await makeDirectory(folder, 0o700);
  // A program that was killed may have left one.
  if (mountedAt(await mounts.list(), folder)) await mounts.unmount(folder);
  await mounts.mountTmpfs(folder, ["mode=0700", "size=65536"]);
  return {
    path: folder,
    async [Symbol.asyncDispose]() {
      await mounts.unmount(folder);
      await rmdir(folder);
    },
  };
}
