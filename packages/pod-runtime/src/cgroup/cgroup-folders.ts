import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "@virtual-kubelet/errdefs";
import { hasFsCode } from "../volumes/fs-code.ts";

/** Removes one empty cgroup: rmdir, except in tests with plain folders. */
export type RemoveFolder = (folder: string) => Promise<void>;

/** Creates a cgroup's folder and its parents. @returns whether it is new */
export async function makeFolder(folder: string): Promise<boolean> {
  return (await mkdir(folder, { recursive: true, mode: 0o755 })) !== undefined;
}

/** Names of the folders in a folder; empty if it does not exist. */
export async function foldersIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (hasFsCode(error, "ENOENT")) return [];
    throw error;
  }
}

/** Removes a cgroup with its child cgroups and files. Idempotent. @throws EBUSY while a process is in it */
export async function removeFolders(folder: string, removeFolder: RemoveFolder = rmdir): Promise<void> {
  for (const name of await foldersIn(folder)) await removeFolders(join(folder, name), removeFolder);
  try {
    await removeFolder(folder);
  } catch (error) {
    if (!hasFsCode(error, "ENOENT")) throw error;
  }
}

/** Content of a cgroup's file; `undefined` if there is none. */
export async function tryReadSetting(folder: string, file: string): Promise<string | undefined> {
  try {
    return (await readFile(join(folder, file), "utf8")).trim();
  } catch (error) {
    if (hasFsCode(error, "ENOENT", "ENODEV")) return undefined;
    throw error;
  }
}

/** Writes a cgroup's file. @throws an Error with the file's name, the value and the file system's code */
export async function writeSetting(folder: string, file: string, value: string): Promise<void> {
  const path = join(folder, file);
  try {
    await writeFile(path, value);
  } catch (error) {
    const { code } = Object(error) as { readonly code?: unknown };
    throw Object.assign(new Error(`write ${value} to ${path}: ${messageOf(error)}`, { cause: error }), { code });
  }
}
