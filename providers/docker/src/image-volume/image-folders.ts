import { untilAborted } from "@virtual-kubelet/async";
import type { Logger } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { chmod, lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

export interface ImageFoldersOptions {
  /** Folder of all images' folders. The engine sees it at the same path. */
  readonly path: string;
  /** Id that changes with each start of the machine. */
  bootId(): Promise<string>;
  /** Writes the files of an image into an empty folder. */
  fill(imageId: string, folder: string, signal: AbortSignal): Promise<void>;
  readonly logger: Logger;
}

/** Prefixes of folders that are being created or removed. */
const [makingPrefix, removingPrefix] = [".making-", ".removing-"];

/**
 * Folders with the files of images, `PATH/BOOT/IMAGE`, each shared by all users. A folder gets its final name only when it is complete.
 * Files are not flushed to the disk, so folders of an earlier start of the machine are not used: a power failure may have damaged them.
 */
export class ImageFolders implements AsyncDisposable {
  readonly #options: ImageFoldersOptions;
  readonly #making = new Map<string, Promise<string>>();
  readonly #removing = new Map<string, Promise<void>>();
  /** Number of current holds of each image. */
  readonly #holds = new Map<string, number>();
  /** Images that were held during a query of the used images, whose answer may be older. */
  readonly #heldSince = new Set<Set<string>>();
  readonly #end = new AbortController();
  #root: Promise<string> | undefined;

  constructor(options: ImageFoldersOptions) {
    this.#options = options;
  }

  /** Images whose folders are being created now. */
  get making(): ReadonlySet<string> {
    return new Set(this.#making.keys());
  }

  /**
   * Provides the folder of an image for as long as it is held. The creation continues after its caller was aborted: large images take
   * longer than a call may, and the next call finds the result.
   *
   * @throws errors of `fill`, `signal.reason`
   */
  async hold(imageId: string, signal: AbortSignal): Promise<ImageFolder> {
    signal.throwIfAborted();
    const name = folderName(imageId);
    this.#holds.set(name, (this.#holds.get(name) ?? 0) + 1);
    for (const held of this.#heldSince) held.add(name);
    try {
      const path = await untilAborted(this.#made(imageId, name), signal);
      return { path, [Symbol.dispose]: () => this.#letGo(name) };
    } catch (error) {
      this.#letGo(name);
      throw error;
    }
  }

  /**
   * Removes unused folders, and leftovers of creations and removals.
   *
   * @param used - ids of the images whose folders are in use besides the current holds
   */
  async sweep(used: () => Promise<ReadonlySet<string>>): Promise<void> {
    const held = new Set(this.#holds.keys());
    this.#heldSince.add(held);
    try {
      const [root, inUse] = [await this.#openRoot(), new Set([...(await used())].map(folderName))];
      await this.#removeOldBoots(root);
      for (const name of await readdir(root)) {
        const isTemporary = name.startsWith(".");
        const isWanted = isTemporary ? this.#isAtWork(name) : inUse.has(name) || held.has(name);
        if (!isWanted) await (isTemporary ? removeTree(join(root, name)) : this.#remove(root, name));
      }
    } finally {
      this.#heldSince.delete(held);
    }
  }

  /** Aborts creations in progress. Complete folders stay. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("the runtime was closed"));
    await Promise.allSettled([...this.#making.values(), ...this.#removing.values()]);
  }

  #letGo(name: string): void {
    const left = (this.#holds.get(name) ?? 1) - 1;
    if (left > 0) this.#holds.set(name, left);
    else this.#holds.delete(name);
  }

  #made(imageId: string, name: string): Promise<string> {
    const making = this.#making.get(imageId) ?? this.#make(imageId, name).finally(() => this.#making.delete(imageId));
    this.#making.set(imageId, making);
    return making;
  }

  async #make(imageId: string, name: string): Promise<string> {
    const { fill, logger } = this.#options;
    const { signal } = this.#end;
    await this.#removing.get(name);
    const root = await this.#openRoot();
    const path = join(root, name);
    if (await exists(path)) return path;
    const workshop = join(root, `${makingPrefix}${name}`);
    try {
      await removeTree(workshop);
      await mkdir(workshop);
      // All users of a container must be able to read the volume's root, whatever this program's umask.
      await chmod(workshop, 0o755);
      await fill(imageId, workshop, signal);
      signal.throwIfAborted();
      await rename(workshop, path);
      logger.info({ image: imageId, path }, "the files of an image were extracted for use as a volume");
      return path;
    } catch (error) {
      await removeTree(workshop).catch((reason: unknown) =>
        logger.warn({ path: workshop, err: reason }, "an unfinished folder could not be removed; a later sweep removes it"),
      );
      throw error;
    }
  }

  #isAtWork(temporary: string): boolean {
    const name = temporary.replace(/^\.[a-z]+-/, "");
    return this.#removing.has(name) || [...this.#making.keys()].some((imageId) => folderName(imageId) === name);
  }

  /** Renames first, so that a half-removed folder is not used. */
  async #remove(root: string, name: string): Promise<void> {
    const leaving = join(root, `${removingPrefix}${name}`);
    const remove = async (): Promise<void> => {
      await removeTree(leaving);
      await rename(join(root, name), leaving);
      await removeTree(leaving);
      this.#options.logger.info({ folder: name }, "the files of an image that no pod uses any more were removed");
    };
    const removing = remove().finally(() => this.#removing.delete(name));
    this.#removing.set(name, removing);
    await removing;
  }

  async #removeOldBoots(root: string): Promise<void> {
    const { path } = this.#options;
    for (const name of await readdir(path)) if (join(path, name) !== root) await removeTree(join(path, name));
  }

  /** Created once. A failure is retried by the next call. */
  #openRoot(): Promise<string> {
    this.#root ??= this.#makeRoot().catch((error: unknown) => {
      this.#root = undefined;
      throw error;
    });
    return this.#root;
  }

  /** Only root may enter, because files keep their owners and modes, including set-user-id. */
  async #makeRoot(): Promise<string> {
    const { path, bootId } = this.#options;
    const root = join(path, folderName(await bootId()));
    await mkdir(root, { recursive: true, mode: 0o700 });
    return root;
  }
}

/** A folder that exists until it is disposed. */
export interface ImageFolder extends Disposable {
  readonly path: string;
}

/** `sha256:…` without the colon. */
function folderName(id: string): string {
  const name = id.trim().replace(":", "-");
  if (!/^[A-Za-z0-9][A-Za-z0-9-]{0,150}$/.test(name))
    throw new InvalidInputError(`find the folder of image ${JSON.stringify(id)}: expected an id`);
  return name;
}

/** Removes links without following them. */
async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
