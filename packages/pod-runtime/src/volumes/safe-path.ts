import { constants } from "node:fs";
import { chmod, lstat, mkdir, open, realpath, type FileHandle } from "node:fs/promises";
import { join, relative } from "node:path";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { hasFsCode } from "./fs-code.ts";

/** Opens a place without reading it, so also what may not be read. It is the same number on all that Node runs on. */
const O_PATH = 0o10000000;

/** A path within a folder, with all links resolved. */
export interface ResolvedPath {
  /** The longest part of it that exists. */
  readonly existing: string;
  /** The names below that do not. */
  readonly missing: readonly string[];
}

/** Whether a path is a folder or within it. Both have to be resolved. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

/**
 * Follows a path from a folder, through links as long as they stay in it.
 *
 * @param folder - has to be resolved
 * @throws InvalidInputError if it leads out of the folder, or to a link that leads nowhere
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
      if (await isLink(next)) throw new InvalidInputError(`follow ${path} from ${folder}: ${next} is a link that leads nowhere`);
      return { existing, missing: names.slice(index) };
    }
    if (!isWithin(existing, folder)) throw new InvalidInputError(`follow ${path} from ${folder}: ${next} leads out of it`);
  }
  return { existing, missing: [] };
}

/**
 * Opens a resolved path, name by name and following no link, so that one that was put there since is refused. What is
 * missing is made, as folders.
 *
 * @param anchor - a folder above it whose own path nobody else can change
 * @param mode - of folders that are made
 * @throws an Error, whose code is of the file system
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

/** Opens what is in an open folder, and closes the folder. Where it fails, the folder stays open. */
async function enter(folder: FileHandle, name: string): Promise<FileHandle> {
  // The system resolves the first part to the open folder itself, whatever became of its path.
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
    // The program's umask had a say.
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
