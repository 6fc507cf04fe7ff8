import {
  makeDirectory,
  type Logger,
  type Owner,
  type ProvisionedSource,
  type ReleasedVolume,
  type VolumeProvisioner,
  type VolumeWish,
} from "@virtual-kubelet/core";
import { ConflictError, InvalidInputError, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { constants } from "node:fs";
import { chmod, lstat, mkdir, open, readdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasFsCode } from "../fs-code.ts";
import { systemMounts, type HostMounts } from "../host-mounts.ts";
import { mountedWithin } from "../mount-table.ts";
import { isFolderName } from "../pod-directory.ts";
import { removeTree } from "../remove-tree.ts";

/** What {@link LocalPathVolumes} needs. */
export interface LocalPathOptions {
  /** Folder of all volumes: an absolute path, which pods do not reach. Made when the first volume is. */
  readonly root: string;
  /** Whose volumes they are. */
  readonly owner: Owner;
  readonly logger: Logger;
  /** UIDs of the pods on the node that use the PersistentVolume of that name, as `VolumeManager.usersOf`. */
  usersOf(volume: string): Promise<readonly string[]>;
  /** Default: those of this machine. */
  readonly mounts?: Pick<HostMounts, "list"> | undefined;
}

/** Says in the root that it is the folder it was, and not the empty place where a disk is not mounted. */
const rootMark = ".local-path-volumes";
/** What a volume's folder says of itself, and what of it pods get. */
const [markName, dataName] = ["volume.json", "data"];
const [makingPrefix, removingPrefix] = [".making-", ".removing-"];

/** Most that is read of a mark, in bytes. */
const maxMarkBytes = 4_096;

/** Modes that a folder of one node can have. */
const accessModes: ReadonlySet<string> = new Set(["ReadWriteOnce", "ReadWriteOncePod"]);

/** Whose a volume's folder is. */
interface VolumeMark {
  readonly clusterId: string;
  readonly nodeName: string;
  readonly claimUid: string;
}

/**
 * Volumes for claims, each a folder `ROOT/NAME/data` of the node. Beside `data`, where pods cannot write, stands whose it is. A folder has
 * its name once it is finished, and loses it before it is emptied, so that whatever a program that was killed has left is told apart.
 *
 * A folder has no limit: its size is that of its file system.
 */
export class LocalPathVolumes implements VolumeProvisioner {
  readonly #options: LocalPathOptions;

  constructor(options: LocalPathOptions) {
    this.#options = options;
  }

  /** As `VolumeProvisioner.provisionVolume`. Everybody may write to the folder, as to an emptyDir. */
  async provisionVolume({ name, claim, accessModes: wanted, parameters }: VolumeWish, signal: AbortSignal): Promise<ProvisionedSource> {
    const wrong = wanted.find((mode) => !accessModes.has(mode));
    if (wrong !== undefined)
      throw new InvalidInputError(
        `spec.accessModes: ${wrong} is not supported, expected ${[...accessModes].join(" or ")}: it is a folder of one node`,
      );
    const [parameter] = Object.keys(parameters);
    if (parameter !== undefined) throw new InvalidInputError(`parameters of the StorageClass: ${parameter} is unknown, expected none`);
    const root = await this.#makeRoot();
    const folder = join(root, volumeFolder(name));
    signal.throwIfAborted();
    if (!(await isThere(folder))) await this.#make(root, name, claim.uid);
    await this.#check(folder, claim.uid);
    return { kind: "local", path: join(folder, dataName) };
  }

  /**
   * As `VolumeProvisioner.removeVolume`. What is not plainly that claim's own folder stays.
   *
   * @throws ConflictError naming what speaks against it
   */
  async removeVolume({ name, claim, source }: ReleasedVolume, signal: AbortSignal): Promise<void> {
    const root = await this.#openRoot();
    const folder = join(root, volumeFolder(name));
    const refuse = (problem: string): never => {
      throw new ConflictError(`remove volume ${name}: ${problem}; nothing was removed`);
    };
    if (source.kind !== "local" || source.path !== join(folder, dataName))
      refuse(`its path is ${"path" in source ? source.path : source.kind}, expected ${join(folder, dataName)}`);
    const users = await this.#options.usersOf(name);
    if (users.length > 0) refuse(`pods of this node still use it: ${users.join(", ")}`);
    const workshop = join(root, `${removingPrefix}${name}`);
    if (await isThere(folder)) {
      await this.#check(folder, claim.uid);
      const { mounts = systemMounts } = this.#options;
      const [mounted] = mountedWithin(await mounts.list(), folder);
      if (mounted) refuse(`something is mounted at ${mounted.path}`);
      signal.throwIfAborted();
      await removeTree(folder, workshop, signal);
    } else if (await isThere(workshop)) await removeTree(undefined, workshop, signal);
    this.#options.logger.info({ volume: name, claim: `${claim.namespace}/${claim.name}` }, "the folder of a volume was removed");
  }

  async #makeRoot(): Promise<string> {
    const { root } = this.#options;
    await makeDirectory(root, 0o711);
    const mark = join(root, rootMark);
    if (await isThere(mark)) return realpath(root);
    // A disk that is not mounted looks like this, and would have the data of others.
    // What a new file system has of its own.
    if ((await readdir(root)).some((name) => name !== "lost+found"))
      throw new UnavailableError(`make a volume in ${root}: there is something in it and no file ${rootMark}; expected an empty folder`);
    await writeFile(mark, "Volumes of virtual-kubelet's local-path provisioner. Without this file it removes and makes none here.\n", {
      flag: "wx",
    });
    return realpath(root);
  }

  /** @throws UnavailableError where the root is not what it was when volumes were made in it */
  async #openRoot(): Promise<string> {
    const { root } = this.#options;
    if (await isThere(join(root, rootMark))) return realpath(root);
    throw new UnavailableError(`look for volumes in ${root}: it has no file ${rootMark}; is its disk mounted?`);
  }

  async #make(root: string, name: string, claimUid: string): Promise<void> {
    const { clusterId, nodeName } = this.#options.owner;
    const unfinished = join(root, `${makingPrefix}${name}`);
    // It never had anything of a pod's.
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(join(unfinished, dataName), { recursive: true, mode: 0o711 });
    await chmod(unfinished, 0o711);
    await chmod(join(unfinished, dataName), 0o777);
    const mark: VolumeMark = { clusterId, nodeName, claimUid };
    await writeFile(join(unfinished, markName), JSON.stringify(mark), { mode: 0o600 });
    await rename(unfinished, join(root, name));
  }

  /** @throws ConflictError for a folder that is not this node's volume of the claim */
  async #check(folder: string, claimUid: string): Promise<void> {
    const { clusterId, nodeName } = this.#options.owner;
    const notOurs = (problem: string): never => {
      throw new ConflictError(`folder ${folder} is not the claim's: ${problem}; it is left as it is`);
    };
    if (!(await lstat(folder)).isDirectory()) notOurs("it is no folder");
    const data = await lstat(join(folder, dataName)).catch((error: unknown) => notOurs(messageOf(error)));
    if (!data.isDirectory()) notOurs(`${dataName} in it is no folder`);
    const mark = await readMark(join(folder, markName)).catch((error: unknown) => notOurs(messageOf(error)));
    const expected: VolumeMark = { clusterId, nodeName, claimUid };
    for (const key of ["clusterId", "nodeName", "claimUid"] as const)
      if (mark[key] !== expected[key]) notOurs(`its ${key} is ${JSON.stringify(mark[key])}, expected ${JSON.stringify(expected[key])}`);
  }
}

/** @throws an Error for a file that is no mark */
async function readMark(path: string): Promise<Partial<Record<keyof VolumeMark, unknown>>> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(maxMarkBytes), 0, maxMarkBytes, 0);
  const mark: unknown = JSON.parse(buffer.toString("utf8", 0, bytesRead));
  if (typeof mark !== "object" || mark === null) throw new Error(`${markName} is no object`);
  return mark;
}

/** One folder in the root and no other place. */
function volumeFolder(name: string): string {
  if (name.startsWith("pvc-") && isFolderName(name)) return name;
  throw new InvalidInputError(`find the folder of volume ${JSON.stringify(name)}: expected a name such as pvc-UID`);
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => {
      if (hasFsCode(error, "ENOENT")) return false;
      throw error;
    },
  );
}
