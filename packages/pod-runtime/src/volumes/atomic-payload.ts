import { chmod, lchown, lstat, mkdir, open, readdir, readFile, readlink, rename, rm, symlink, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { volumeFilePath, type Clock, type Random, type VolumeFile, type VolumePayload } from "@virtual-kubelet/core";
import { hasFsCode } from "./fs-code.ts";

const dataName = "..data";
const newDataName = "..data_tmp";

export interface PayloadTarget {
  /** The volume's folder. It must exist, and containers must not be able to write to it. */
  readonly path: string;
  /** Group that owns and may read all files. Default: the program's own group. */
  readonly fsGroup?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Writes a payload to a volume. Readers see either the old files or the new ones: the files are in a folder named by the time, the link
 * `..data` points to it, each file's name in the volume is a link through `..data`, and a change renames `..data` once. Correct files are
 * left alone; leftovers of an earlier attempt are removed. Source: AtomicWriter in kubernetes v1.36.3 pkg/volume/util/atomic_writer.go.
 *
 * @returns whether something changed
 * @throws InvalidInputError for a file outside of the volume; an Error with the file system's code, and then all old files are still there
 */
export async function writePayload(target: PayloadTarget, payload: VolumePayload): Promise<boolean> {
  const files = payload.files.map((file) => ({ ...file, path: volumeFilePath(file.path), mode: modeOf(file, target) }));
  const current = await currentFolder(target.path);
  const isSame = current !== undefined && (await holds(join(target.path, current), files, target));
  const folder = isSame ? current : await swapIn(target, files);
  const hasChangedLinks = await arrangeLinks(target.path, folder, new Set(files.map(({ path }) => firstName(path))));
  return !isSame || hasChangedLinks;
}

/** Target of the link `..data`. */
async function currentFolder(path: string): Promise<string | undefined> {
  try {
    const name = await readlink(join(path, dataName));
    return name.startsWith("..") && name.length > 2 && !name.includes("/") ? name : undefined;
  } catch (error) {
    if (hasFsCode(error, "ENOENT", "EINVAL")) return undefined;
    throw error;
  }
}

function modeOf({ mode }: VolumeFile, { fsGroup }: PayloadTarget): number {
  return fsGroup === undefined ? mode : mode | 0o440;
}

/** Whether a folder contains exactly these files. */
async function holds(folder: string, files: readonly VolumeFile[], { fsGroup }: PayloadTarget): Promise<boolean> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    if (entries.filter((entry) => !entry.isDirectory()).length !== files.length) return false;
    for (const { path, mode, uid, content } of files) {
      const at = join(folder, path);
      const found = await lstat(at);
      const isAsWanted = found.isFile() && (found.mode & 0o7777) === mode && found.size === content.length;
      const isOwnedAsWanted = (uid === undefined || found.uid === uid) && (fsGroup === undefined || found.gid === fsGroup);
      if (!isAsWanted || !isOwnedAsWanted || Buffer.compare(await readFile(at), content) !== 0) return false;
    }
    return true;
  } catch (error) {
    if (hasFsCode(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

/** Writes the files to a new folder, and points `..data` to it. @returns the folder's name */
async function swapIn({ path, fsGroup, clock, random }: PayloadTarget, files: readonly VolumeFile[]): Promise<string> {
  const name = folderNameAt(clock.now(), random);
  const folder = join(path, name);
  try {
    await makeFolder(folder, fsGroup);
    for (const file of files) await writeFile(folder, file, fsGroup);
    await rm(join(path, newDataName), { force: true });
    await symlink(name, join(path, newDataName));
    await rename(join(path, newDataName), join(path, dataName));
    return name;
  } catch (error) {
    await rm(folder, { recursive: true, force: true }).catch(() => {});
    throw error;
  }
}

/** Such as `..2026_01_31_23_59_59.1234567890`. */
function folderNameAt(wallMs: number, random: Random): string {
  const time = new Date(wallMs).toISOString().slice(0, 19).replaceAll(/[-:T]/g, "_");
  return `..${time}.${Math.floor(random.next() * 1e10)}`;
}

async function writeFile(folder: string, { path, mode, content, uid }: VolumeFile, fsGroup: number | undefined): Promise<void> {
  const names = path.split("/").slice(0, -1);
  for (const index of names.keys()) await makeFolder(join(folder, ...names.slice(0, index + 1)), fsGroup);
  await using handle = await open(join(folder, path), "wx", 0o600);
  await handle.writeFile(content);
  if (uid !== undefined || fsGroup !== undefined) await handle.chown(uid ?? -1, fsGroup ?? -1);
  await handle.chmod(mode);
}

/** Creates a world-readable folder, unless it exists. */
async function makeFolder(path: string, fsGroup: number | undefined): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (hasFsCode(error, "EEXIST")) return;
    throw error;
  }
  if (fsGroup !== undefined) await lchown(path, -1, fsGroup);
  await chmod(path, fsGroup === undefined ? 0o755 : 0o2755);
}

/** Links each name in the volume to its file, and removes links and folders that are not needed. @returns whether something changed */
async function arrangeLinks(path: string, folder: string, names: ReadonlySet<string>): Promise<boolean> {
  const entries = await readdir(path, { withFileTypes: true });
  const present = new Set(entries.map(({ name }) => name));
  const missing = [...names].filter((name) => !present.has(name));
  for (const name of missing) await symlink(join(dataName, name), join(path, name));
  let isChanged = missing.length > 0;
  for (const entry of entries) {
    const at = join(path, entry.name);
    if (entry.name.startsWith("..")) {
      if (entry.name !== dataName && entry.name !== folder) await rm(at, { recursive: true, force: true });
    } else if (entry.isSymbolicLink() && !names.has(entry.name)) {
      await unlink(at);
      isChanged = true;
    }
  }
  return isChanged;
}

function firstName(path: string): string {
  return path.split("/", 1)[0] ?? dirname(path);
}
