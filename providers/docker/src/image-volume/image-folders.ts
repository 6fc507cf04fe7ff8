import { untilAborted } from "@virtual-kubelet/async";
import type { Logger } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { chmod, lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

/** What {@link ImageFolders} needs. */
export interface ImageFoldersOptions {
  /** Folder of all of them; the engine sees it at the same path. */
  readonly path: string;
  /** Something else after each start of the machine. */
  bootId(): Promise<string>;
  /** Writes the files of an image into a folder that is empty. */
  fill(imageId: string, folder: string, signal: AbortSignal): Promise<void>;
  readonly logger: Logger;
}

/** How folders are called until they are whole, and once they go. */
const [makingPrefix, removingPrefix] = [".making-", ".removing-"];

/**
 * Folders with the files of images, `PATH/BOOT/IMAGE`, each made once for all who use it. What stands under its final name is
 * whole: it is made under another and renamed. Nothing is written through to the disk, so folders from before a start of the
 * machine, in which a power cut may have left holes, do not count.
 */
export class ImageFolders implements AsyncDisposable {
  readonly #options: ImageFoldersOptions;
  readonly #making = new Map<string, Promise<string>>();
  readonly #removing = new Map<string, Promise<void>>();
  /** How often each is held now. */
  readonly #holds = new Map<string, number>();
  /** What was held while somebody asks which are used: the answer may be older. */
  readonly #heldSince = new Set<Set<string>>();
  readonly #end = new AbortController();
  #root: Promise<string> | undefined;

  constructor(options: ImageFoldersOptions) {
    this.#options = options;
  }

  /** Images whose folders are being made now. */
  get making(): ReadonlySet<string> {
    return new Set(this.#making.keys());
  }

  /**
   * Gives the folder of an image, which stays as long as it is held. What has been begun is gone on with also when nobody waits
   * for it any more: large images take longer than a call may, and the next call finds them.
   *
   * @throws what `fill` throws, `signal.reason`
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
   * Removes the folders that nobody uses, and what was left half made or half removed.
   *
   * @param used - gives the ids of the images whose folders are in use by others than those who hold them
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

  /** Gives up what is being made. What is whole stays. */
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
      // All users of a container see it, whatever this program's own files are like.
      await chmod(workshop, 0o755);
      await fill(imageId, workshop, signal);
      signal.throwIfAborted();
      await rename(workshop, path);
      logger.info({ image: imageId, path }, "the files of an image were taken out of the engine, for volumes");
      return path;
    } catch (error) {
      await removeTree(workshop).catch((reason: unknown) =>
        logger.warn({ path: workshop, err: reason }, "a half made folder stays for now"),
      );
      throw error;
    }
  }

  #isAtWork(temporary: string): boolean {
    const name = temporary.replace(/^\.[a-z]+-/, "");
    return this.#removing.has(name) || [...this.#making.keys()].some((imageId) => folderName(imageId) === name);
  }

  /** Out of the way first, so that it is not found half removed. */
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

  /** Made once; a failure is tried again. */
  #openRoot(): Promise<string> {
    this.#root ??= this.#makeRoot().catch((error: unknown) => {
      this.#root = undefined;
      throw error;
    });
    return this.#root;
  }

  /** Nobody but root may look in: files keep their owners and modes, set-user-id among them. */
  async #makeRoot(): Promise<string> {
    const { path, bootId } = this.#options;
    const root = join(path, folderName(await bootId()));
    await mkdir(root, { recursive: true, mode: 0o700 });
    return root;
  }
}

/** A folder that stays until it is disposed of. */
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

/** Links are removed, not followed. */
async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
