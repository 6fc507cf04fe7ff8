import { constants } from "node:fs";
import { open, realpath, stat, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { isAllowedHostPath, type PodPolicy } from "@virtual-kubelet/core";
import { InvalidInputError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { hasFsCode } from "./fs-code.ts";
import { openResolved, resolveWithin, type ResolvedPath } from "./safe-path.ts";

/** A path of the node that a pod asks for, and who says whether it may. */
export interface HostPathWish {
  readonly path: string;
  /** Such as `DirectoryOrCreate`; empty: whatever is there, and a folder where nothing is. */
  readonly type: string;
  readonly policy: Pick<PodPolicy, "hostPaths">;
}

/** A path of the node, allowed and with its links resolved. */
export interface HostPath extends ResolvedPath {
  readonly path: string;
  /** Whether it may be handed on by its name: only the administrator can put another thing there. */
  readonly isFixed: boolean;
}

/** Folders that are made. Source: makeDir of kubernetes v1.36.3 pkg/volume/hostpath/host_path.go. */
const folderMode = 0o755;

/**
 * Where a path of the node leads, whether it is there or not.
 *
 * @throws InvalidInputError, UnsupportedError for one that is not allowed, or that leads where it is not
 */
export async function findHostPath({ path, policy }: HostPathWish): Promise<HostPath> {
  if (path.split("/").includes("..")) throw new InvalidInputError(`invalid HostPath \`${path}\`: must not contain '..'`);
  if (!path.startsWith("/")) throw new InvalidInputError(`invalid HostPath \`${path}\`: must be an absolute path`);
  const hostPaths = policy.hostPaths ?? [];
  if (!isAllowedHostPath(path, policy)) throw notAllowed(path, path, hostPaths);
  const resolved = await resolveWithin("/", path);
  const at = join(resolved.existing, ...resolved.missing);
  // The administrator may have named links: what they lead to is meant.
  const folders = await Promise.all(outermost(hostPaths).map((folder) => realpath(folder).catch(() => folder)));
  if (!isAllowedHostPath(at, { hostPaths: folders })) throw notAllowed(path, at, hostPaths);
  return { ...resolved, path: at, isFixed: folders.includes("/") || folders.includes(at) };
}

/** Without folders within others of them, where pods may put links in their place. */
function outermost(folders: readonly string[]): readonly string[] {
  const isIn = (inner: string, outer: string): boolean => isAllowedHostPath(inner, { hostPaths: [outer] });
  return folders.filter((folder, index) =>
    folders.every((other, at) => at === index || !isIn(folder, other) || (isIn(other, folder) && at > index)),
  );
}

/**
 * Makes sure that a path of the node is what the pod takes it for, and makes it where that is asked for.
 * Source: checkTypeInternal of kubernetes v1.36.3 pkg/volume/hostpath/host_path.go; a folder in place of nothing is containerd's.
 *
 * @throws as {@link findHostPath}; InvalidInputError in a kubelet's words
 */
export async function makeHostPath(wish: HostPathWish): Promise<void> {
  const found = await findHostPath(wish);
  const { type, path } = wish;
  const state = found.missing.length > 0 ? undefined : await stat(found.existing);
  const check = (isSo: boolean | undefined, kind: string): void => {
    if (!isSo) throw new InvalidInputError(`hostPath type check failed: ${path} is not a ${kind}`);
  };
  switch (type) {
    case "":
      return state ? undefined : makeFolder(found);
    case "DirectoryOrCreate":
      return state ? check(state.isDirectory(), "directory") : makeFolder(found);
    case "Directory":
      return check(state?.isDirectory(), "directory");
    case "FileOrCreate":
      return state ? check(state.isFile(), "file") : makeFile(found);
    case "File":
      return check(state?.isFile(), "file");
    case "Socket":
      return check(state?.isSocket(), "socket file");
    case "CharDevice":
      return check(state?.isCharacterDevice(), "character device");
    case "BlockDevice":
      return check(state?.isBlockDevice(), "block device");
    default:
      throw new InvalidInputError(`${type} is an invalid volume type`);
  }
}

/** Opens a path of the node as it was found; what was put in its place since is refused. */
export function openHostPath(found: ResolvedPath): Promise<FileHandle> {
  return openResolved("/", found, folderMode);
}

async function makeFolder(found: ResolvedPath): Promise<void> {
  await (await openHostPath(found)).close();
}

async function makeFile({ existing, missing, path }: HostPath): Promise<void> {
  const [name = "", ...rest] = missing;
  if (rest.length > 0) throw new InvalidInputError(`open ${path}: no such file or directory`);
  await using folder = await openHostPath({ existing, missing: [] });
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  try {
    await using file = await open(`/proc/self/fd/${folder.fd}/${name}`, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o644);
    await file.chmod(0o644);
  } catch (error) {
    if (!hasFsCode(error, "EEXIST")) throw error;
  }
}

function notAllowed(path: string, at: string, hostPaths: readonly string[]): UnsupportedError {
  const problem = at === path ? "is not" : `leads to ${at}, which is not`;
  const expected = hostPaths.length > 0 ? `in ${hostPaths.join(", ")}` : "allowed: the node lets pods mount no path of its own";
  return new UnsupportedError(`mount path ${path} of the node: it ${problem} ${expected}`, { fieldPath: "spec.volumes[*].hostPath.path" });
}
