import { readdir, realpath, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory, type Logger } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { HostMounts } from "./host-mounts.ts";
import { mountedAt } from "./mount-table.ts";

/** The folder of all pods' folders. */
export interface VolumesRoot {
  /** The path with links resolved. */
  readonly path: string;
  /** `undefined` if the program may not mount, or the runtime would not see its mounts. */
  readonly mounts: HostMounts | undefined;
}

/** The folder below a root that is mounted in memory, if possible. */
function memoryFolder(root: string): string {
  return join(root, "memory");
}

export interface OpenRootOptions {
  readonly path: string;
  readonly mounts: HostMounts;
  /** Whether the runtime sees mounts of this program. */
  readonly isMountSeen: boolean;
  readonly logger: Logger;
}

/**
 * Creates the folders of a root, and mounts the one for secrets in memory. One mount serves all pods, because a mount for each would double
 * the cost of a pod.
 */
export async function openRoot({ path, mounts, isMountSeen, logger }: OpenRootOptions): Promise<VolumesRoot> {
  await makeDirectory(join(path, "pods"), 0o750);
  await makeDirectory(memoryFolder(path), 0o700);
  const root = await realpath(path);
  const memory = memoryFolder(root);
  if (!isMountSeen) return { path: root, mounts: undefined };
  if (mountedAt(await mounts.list(), memory)) return { path: root, mounts };
  try {
    // Secrets must not reach a swap file; older kernels do not know `noswap`.
    await mounts.mountTmpfs(memory, ["mode=0700", "noswap"]).catch(() => mounts.mountTmpfs(memory, ["mode=0700"]));
    return { path: root, mounts };
  } catch (error) {
    logger.warn(
      { path: memory, reason: messageOf(error) },
      "volumes cannot be mounted, because that needs root with CAP_SYS_ADMIN: secrets and volumes with medium Memory are stored on the disk",
    );
    return { path: root, mounts: undefined };
  }
}

/** Unmounts the folder for secrets if it is empty. Secrets of pods stay for the next program. */
export async function closeRoot({ path, mounts }: VolumesRoot): Promise<void> {
  const memory = memoryFolder(path);
  if (!mounts || !mountedAt(await mounts.list(), memory) || (await readdir(memory)).length > 0) return;
  await mounts.unmount(memory);
}

/** A folder with a mount, until it is disposed. */
export interface MountedFolder extends AsyncDisposable {
  readonly path: string;
}

/**
 * Mounts an empty file system, to check whether the runtime sees it: a runtime may see mounts of an earlier program, but not those of this
 * program in a separate mount namespace. `undefined` where mounting is impossible.
 */
export async function mountAnew({ path, mounts }: VolumesRoot): Promise<MountedFolder | undefined> {
  if (!mounts) return undefined;
  const folder = join(path, "mount-check");
  await makeDirectory(folder, 0o700);
  // A leftover of a program that was killed.
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
