import { constants } from "node:fs";
import { open, realpath, stat, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { isAllowedHostPath, type PodPolicy } from "@virtual-kubelet/core";
import { InvalidInputError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { hasFsCode } from "./fs-code.ts";
import { openResolved, resolveWithin, type ResolvedPath } from "./safe-path.ts";

/** A path of the node that a pod asks for, and the policy that may allow it. */
export interface HostPathWish {
  readonly path: string;
  /** Such as `DirectoryOrCreate`; empty: anything that exists, else a new folder. */
  readonly type: string;
  readonly policy: Pick<PodPolicy, "hostPaths">;
}

/** An allowed path of the node, with its links resolved. */
export interface HostPath extends ResolvedPath {
  readonly path: string;
  /** Whether it can be mounted by name, because only the administrator can replace it. */
  readonly isFixed: boolean;
}

/** Mode of new folders. Source: makeDir of kubernetes v1.36.3 pkg/volume/hostpath/host_path.go. */
const folderMode = 0o755;

/**
 * Resolves a path of the node, whether it exists or not.
 *
 * @throws InvalidInputError, UnsupportedError for a path that is not allowed, or whose links lead out of the allowed folders
 */
export async function findHostPath({ path, policy }: HostPathWish): Promise<HostPath> {
  if (path.split("/").includes("..")) throw new InvalidInputError(`invalid HostPath \`${path}\`: must not contain '..'`);
  if (!path.startsWith("/")) throw new InvalidInputError(`invalid HostPath \`${path}\`: must be an absolute path`);
  const hostPaths = policy.hostPaths ?? [];
  if (!isAllowedHostPath(path, policy)) throw notAllowed(path, path, hostPaths);
  const resolved = await resolveWithin("/", path);
  const at = join(resolved.existing, ...resolved.missing);
  // The policy may name links: their targets are allowed.
  const folders = await Promise.all(outermost(hostPaths).map((folder) => realpath(folder).catch(() => folder)));
  if (!isAllowedHostPath(at, { hostPaths: folders })) throw notAllowed(path, at, hostPaths);
  return { ...resolved, path: at, isFixed: folders.includes("/") || folders.includes(at) };
}

/** Leaves out folders within others of the list, in which pods may create links. */
function outermost(folders: readonly string[]): readonly string[] {
  const isIn = (inner: string, outer: string): boolean => isAllowedHostPath(inner, { hostPaths: [outer] });
  return folders.filter((folder, index) =>
    folders.every((other, at) => at === index || !isIn(folder, other) || (isIn(other, folder) && at > index)),
  );
}

/**
 * Makes sure that a path of the node has the type that the pod expects, and creates it if the type says so. Source: checkTypeInternal of
 * kubernetes v1.36.3 pkg/volume/hostpath/host_path.go; without a type, a missing path becomes a folder as with containerd.
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

/** Opens a resolved path of the node. Fails if it was replaced by a link in the meantime. */
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
