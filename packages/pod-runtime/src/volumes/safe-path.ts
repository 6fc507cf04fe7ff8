import { constants } from "node:fs";
import { chmod, lstat, mkdir, open, realpath, type FileHandle } from "node:fs/promises";
import { join, relative } from "node:path";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { hasFsCode } from "./fs-code.ts";

/** Opens a path without read permission. The number is the same on all platforms of Node. */
const O_PATH = 0o10000000;

/** A path within a folder, with all links resolved. */
export interface ResolvedPath {
  /** The longest part that exists. */
  readonly existing: string;
  /** Names below it that do not exist. */
  readonly missing: readonly string[];
}

/** Whether a path is the folder or is inside it. Both must be resolved. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

/**
 * Resolves a path inside a folder. Links may not lead out of the folder.
 *
 * @param folder - must be resolved
 * @throws InvalidInputError if the path leads out of the folder, or to a dangling link
 */
export async function resolveWithin(folder: string, path: string): Promise<ResolvedPath> {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  let existing = folder;
  for (const [index, name] of names.entries()) {
    if (name === "..") throw new InvalidInputError(`follow ${path} from ${folder}: it must not contain '..'`);
    const next = join(existing, name);
    try {
      existing = await realpath(next);
    } catch (error) {
      if (!hasFsCode(error, "ENOENT")) throw error;
      if (await isLink(next)) throw new InvalidInputError(`follow ${path} from ${folder}: ${next} is a link whose target does not exist`);
      return { existing, missing: names.slice(index) };
    }
    if (!isWithin(existing, folder)) throw new InvalidInputError(`follow ${path} from ${folder}: ${next} leads out of it`);
  }
  return { existing, missing: [] };
}

/**
 * Opens a resolved path, name by name without following links, so that a link that was put there since is refused. Missing folders are
 * created.
 *
 * @param anchor - a folder above it whose own path nobody else can change
 * @param mode - mode of new folders
 * @throws an Error with the file system's code
 */
export async function openResolved(anchor: string, { existing, missing }: ResolvedPath, mode: number): Promise<FileHandle> {
  let handle = await open(anchor, O_PATH | constants.O_DIRECTORY);
  try {
    for (const name of relative(anchor, existing).split("/")) {
      if (name !== "") handle = await enter(handle, name);
    }
    for (const name of missing) handle = await makeFolder(handle, name, mode);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Opens a name in an open folder, and closes the folder on success. */
async function enter(folder: FileHandle, name: string): Promise<FileHandle> {
  // `/proc/self/fd` names the open folder itself, even if its path has changed.
  const next = await open(`/proc/self/fd/${folder.fd}/${name}`, O_PATH | constants.O_NOFOLLOW);
  if ((await next.stat()).isSymbolicLink()) {
    await next.close();
    throw Object.assign(new Error(`open ${name}: it is a link`), { code: "ELOOP" });
  }
  await folder.close();
  return next;
}

async function makeFolder(folder: FileHandle, name: string, mode: number): Promise<FileHandle> {
  const isNew = await mkdir(`/proc/self/fd/${folder.fd}/${name}`, { mode }).then(
    () => true,
    (error: unknown) => {
      if (hasFsCode(error, "EEXIST")) return false;
      throw error;
    },
  );
  const made = await enter(folder, name);
  if (!isNew) return made;
  try {
    // The umask may have removed bits.
    await chmod(`/proc/self/fd/${made.fd}`, mode);
    return made;
  } catch (error) {
    await made.close();
    throw error;
  }
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSymbolicLink(),
    (error: unknown) => {
      if (hasFsCode(error, "ENOENT")) return false;
      throw error;
    },
  );
}
