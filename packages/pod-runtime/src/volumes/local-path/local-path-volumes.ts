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

/** Options of a provisioner of local-path volumes. */
export interface LocalPathOptions {
  /** Folder of all volumes: an absolute path that pods cannot reach. Created with the first volume. */
  readonly root: string;
  /** Owner of the volumes. */
  readonly owner: Owner;
  readonly logger: Logger;
  /** UIDs of the node's pods that use the PersistentVolume, as `VolumeManager.usersOf`. */
  usersOf(volume: string): Promise<readonly string[]>;
  /** Default: those of this machine. */
  readonly mounts?: Pick<HostMounts, "list"> | undefined;
}

/** A file that distinguishes the root from the empty mount point of a disk that is not mounted. */
const rootMark = ".local-path-volumes";
/** The mark of a volume's folder, and the part of the folder that pods get. */
const [markName, dataName] = ["volume.json", "data"];
const [makingPrefix, removingPrefix] = [".making-", ".removing-"];

/** Maximum bytes read of a mark. */
const maxMarkBytes = 4_096;

/** Access modes that a folder of one node supports. */
const accessModes: ReadonlySet<string> = new Set(["ReadWriteOnce", "ReadWriteOncePod"]);

/** Owner of a volume's folder. */
interface VolumeMark {
  readonly clusterId: string;
  readonly nodeName: string;
  readonly claimUid: string;
}

/**
 * Volumes for claims, each a folder `ROOT/NAME/data` of the node, with a mark of its owner beside `data`, where pods cannot write. A folder
 * gets its name last, and loses it before its contents are removed, so leftovers of a killed program are recognized.
 *
 * A folder has no limit: its size is that of its file system.
 */
export class LocalPathVolumes implements VolumeProvisioner {
  readonly #options: LocalPathOptions;

  constructor(options: LocalPathOptions) {
    this.#options = options;
  }

  /** As `VolumeProvisioner.provisionVolume`. The folder is world-writable, like an emptyDir. */
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
   * As `VolumeProvisioner.removeVolume`. Keeps everything that is not provably the claim's own folder.
   *
   * @throws ConflictError with the reason
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
    // The root may be the empty mount point of a disk. A new file system contains only `lost+found`.
    if ((await readdir(root)).some((name) => name !== "lost+found"))
      throw new UnavailableError(`make a volume in ${root}: it is not empty and has no file ${rootMark}; expected an empty folder`);
    await writeFile(mark, "Volumes of virtual-kubelet's local-path provisioner. Without this file, it creates and removes none here.\n", {
      flag: "wx",
    });
    return realpath(root);
  }

  /** @throws UnavailableError if the root has lost its mark */
  async #openRoot(): Promise<string> {
    const { root } = this.#options;
    if (await isThere(join(root, rootMark))) return realpath(root);
    throw new UnavailableError(`look for volumes in ${root}: it has no file ${rootMark}; is its disk mounted?`);
  }

  async #make(root: string, name: string, claimUid: string): Promise<void> {
    const { clusterId, nodeName } = this.#options.owner;
    const unfinished = join(root, `${makingPrefix}${name}`);
    // No pod has used it.
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(join(unfinished, dataName), { recursive: true, mode: 0o711 });
    await chmod(unfinished, 0o711);
    await chmod(join(unfinished, dataName), 0o777);
    const mark: VolumeMark = { clusterId, nodeName, claimUid };
    await writeFile(join(unfinished, markName), JSON.stringify(mark), { mode: 0o600 });
    await rename(unfinished, join(root, name));
  }

  /** @throws ConflictError for a folder that is not this node's volume for the claim */
  async #check(folder: string, claimUid: string): Promise<void> {
    const { clusterId, nodeName } = this.#options.owner;
    const notOurs = (problem: string): never => {
      throw new ConflictError(`folder ${folder} does not belong to the claim: ${problem}; it is not changed`);
    };
    if (!(await lstat(folder)).isDirectory()) notOurs("it is not a folder");
    const data = await lstat(join(folder, dataName)).catch((error: unknown) => notOurs(messageOf(error)));
    if (!data.isDirectory()) notOurs(`${dataName} in it is not a folder`);
    const mark = await readMark(join(folder, markName)).catch((error: unknown) => notOurs(messageOf(error)));
    const expected: VolumeMark = { clusterId, nodeName, claimUid };
    for (const key of ["clusterId", "nodeName", "claimUid"] as const)
      if (mark[key] !== expected[key]) notOurs(`its ${key} is ${JSON.stringify(mark[key])}, expected ${JSON.stringify(expected[key])}`);
  }
}

/** @throws an Error for a malformed mark */
async function readMark(path: string): Promise<Partial<Record<keyof VolumeMark, unknown>>> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(maxMarkBytes), 0, maxMarkBytes, 0);
  const mark: unknown = JSON.parse(buffer.toString("utf8", 0, bytesRead));
  if (typeof mark !== "object" || mark === null) throw new Error(`${markName} is not a JSON object`);
  return mark;
}

/** The folder of a volume. Its name must not lead out of the root. */
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
