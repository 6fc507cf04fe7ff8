import { hasFsCode } from "@virtual-kubelet/pod-runtime";
import { constants } from "node:fs";
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

/** Mode of new folders, less the umask. */
const folderMode = 0o755;

/**
 * Opens a folder inside another one name by name, and creates the folders that are missing. Links are not followed, because a pod that can
 * write to a folder could put a link to any folder of the machine in its place.
 *
 * @param root - must exist; its own path may contain links
 * @throws Error that names the path, with the file system's code; `PATH is no folder` for a link or a file
 */
export async function openFolder(root: string, names: readonly string[]): Promise<FileHandle> {
  let folder = await open(root, constants.O_DIRECTORY);
  let path = root;
  for (const name of names) {
    path = join(path, name);
    await using parent = folder;
    folder = await enter(parent, name).catch((error: unknown) => {
      throw failureAt(path, error);
    });
  }
  return folder;
}

/** Path of a name in an open folder. It stays inside that folder, even if the folder is moved or replaced. */
export function pathIn(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`;
}

/** The failure of a call on {@link pathIn}, with the path that users know. It has no cause, whose message would be another at each call. */
export function failureAt(path: string, error: unknown): Error {
  if (!(error instanceof Error) || hasFsCode(error, "ENOTDIR", "ELOOP")) return new Error(`${path} is no folder`);
  // Such as "ENOSPC: no space left on device, mkdir '/proc/self/fd/23/app'".
  const [said] = error.message.split(", ", 1);
  return Object.assign(new Error(`make ${path}: ${said}`), { code: "code" in error ? error.code : undefined });
}

async function enter(parent: FileHandle, name: string): Promise<FileHandle> {
  const path = pathIn(parent, name);
  await mkdir(path, { mode: folderMode }).catch((error: unknown) => {
    if (!hasFsCode(error, "EEXIST")) throw error;
  });
  return await open(path, constants.O_DIRECTORY | constants.O_NOFOLLOW);
}
