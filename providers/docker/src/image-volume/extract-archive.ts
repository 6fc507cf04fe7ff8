import { chmod, lchown, link, lutimes, mkdir, open, symlink, writeFile, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { extract, type Extract, type Header } from "tar-stream";

/** One entry of an archive, with its content. */
type Entry = Extract extends AsyncIterable<infer Each> ? Each : never;

/** What {@link extractArchive} may be told. */
export interface ExtractOptions {
  /** Whether an entry stays out. Default: none does. */
  readonly isLeftOut?: ((entry: Header) => boolean) | undefined;
}

/**
 * Writes a tar archive into a folder of ours that is empty and that nobody else writes to: files, folders and links with
 * owner, mode and time; devices and pipes are left out, and so are extended attributes.
 *
 * Whatever the archive says, nothing is written outside the folder, and no link is followed: every name is made anew, and
 * only in folders that were made here, so none of them can be a link.
 *
 * @throws InvalidInputError for an archive that tries; `signal.reason`; what the file system says, such as ENOSPC
 */
export async function extractArchive(
  archive: Readable,
  folder: string,
  { isLeftOut = () => false }: ExtractOptions,
  signal: AbortSignal,
): Promise<void> {
  const entries = extract();
  const feeding = pipeline(archive, entries, { signal });
  // Its failure is the loop's, too.
  feeding.catch(() => {});
  const tree = new Tree(folder);
  try {
    for await (const entry of entries) {
      signal.throwIfAborted();
      if (isLeftOut(entry.header)) entry.resume();
      else await tree.add(entry);
    }
    await feeding;
    await tree.finish();
  } catch (error) {
    archive.destroy();
    await feeding.catch(() => {});
    throw signal.aborted ? signal.reason : error;
  }
}

/** What is being written. */
class Tree {
  readonly #root: string;
  /** Folders that were made here, by their paths within; with what they are to be like in the end. */
  readonly #folders = new Map<string, Header | undefined>([["", undefined]]);

  constructor(root: string) {
    this.#root = root;
  }

  async add(entry: Entry): Promise<void> {
    const { header } = entry;
    const names = namesOf(header.name, header);
    const path = names.join("/");
    if (header.type !== "directory") await this.#makeFolders(names.slice(0, -1), header);
    switch (header.type) {
      case "directory":
        await this.#makeFolders(names, header);
        this.#folders.set(path, header);
        break;
      case "file":
      case "contiguous-file":
        return this.#writeFile(path, entry);
      case "symlink":
        await refuseExisting(header, () => symlink(header.linkname, this.#at(path)));
        await this.#own(path, header);
        break;
      case "link":
        await this.#link(path, header);
        break;
      default:
      // Devices and pipes: a volume that is only read has no use for them.
    }
    entry.resume();
  }

  /** Gives the folders their owners, modes and times, which what was written into them would have changed. */
  async finish(): Promise<void> {
    for (const [path, header] of [...this.#folders].reverse()) {
      if (!header) continue;
      await this.#own(path, header, () => chmod(this.#at(path), modeOf(header)));
    }
  }

  /** Makes a folder and those above it, where they have not been made. */
  async #makeFolders(names: readonly string[], header: Header): Promise<void> {
    for (let depth = 1; depth <= names.length; depth++) {
      const path = names.slice(0, depth).join("/");
      if (this.#folders.has(path)) continue;
      await refuseExisting(header, () => mkdir(this.#at(path)));
      await chmod(this.#at(path), 0o755);
      this.#folders.set(path, undefined);
    }
  }

  async #writeFile(path: string, entry: Entry): Promise<void> {
    const { header } = entry;
    await using handle: FileHandle = await refuseExisting(header, () => open(this.#at(path), "wx", 0o600));
    await writeFile(handle, entry as AsyncIterable<Uint8Array>);
    await ignoreNotPermitted(() => handle.chown(header.uid, header.gid));
    await handle.chmod(modeOf(header));
    await handle.utimes(header.mtime, header.mtime);
  }

  /** A link to what was written before; as a link is not followed, it may itself be one. */
  async #link(path: string, header: Header): Promise<void> {
    const names = namesOf(header.linkname, header);
    if (!this.#folders.has(names.slice(0, -1).join("/"))) throw hostile(header, `its target ${header.linkname} was not written before`);
    await refuseExisting(header, () => link(this.#at(names.join("/")), this.#at(path)));
  }

  async #own(path: string, header: Header, change?: () => Promise<void>): Promise<void> {
    await ignoreNotPermitted(() => lchown(this.#at(path), header.uid, header.gid));
    // An owner takes away what a mode says of other users' rights: first the one, then the other.
    await change?.();
    await lutimes(this.#at(path), header.mtime, header.mtime);
  }

  #at(path: string): string {
    return join(this.#root, path);
  }
}

/** The parts of a path within the folder; of an absolute one, as tar has it, what follows the slash. */
function namesOf(path: string, header: Header): readonly string[] {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..") || path.includes("\0")) throw hostile(header, `${JSON.stringify(path)} leads out of the folder`);
  if (names.length === 0 && header.type !== "directory") throw hostile(header, "it has no name");
  return names;
}

function hostile({ type, name }: Header, problem: string): InvalidInputError {
  return new InvalidInputError(`extract ${type} ${JSON.stringify(name)} of an archive: ${problem}`);
}

/** A name that is there may be a link that leads out; an archive of a file system has each name once. */
async function refuseExisting<T>(header: Header, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw hostile(header, "something else of the archive is in its place");
    throw error;
  }
}

/** Without the right to give files away they are whose who writes them, as with tar. */
async function ignoreNotPermitted(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (codeOf(error) !== "EPERM") throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

function modeOf({ mode }: Header): number {
  return mode & 0o7777;
}
