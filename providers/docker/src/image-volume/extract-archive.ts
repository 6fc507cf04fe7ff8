import { chmod, lchown, link, lutimes, mkdir, open, symlink, writeFile, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { extract, type Extract, type Header } from "./tar-stream.ts";

type Entry = Extract extends AsyncIterable<infer Each> ? Each : never;

export interface ExtractOptions {
  /** Selects entries to leave out. Default: none. */
  readonly isLeftOut?: ((entry: Header) => boolean) | undefined;
}

/**
 * Extracts a tar archive into an empty folder that nobody else can write to: files, folders and links with owner, mode and time. Devices,
 * pipes and extended attributes are left out.
 *
 * Whatever the archive contains, nothing is written outside the folder, and no link is followed: every name must be new, and its folder
 * must have been created here, so no part of a path is a link.
 *
 * @throws InvalidInputError for an archive that tries to leave the folder; `signal.reason`; errors of the file system, such as ENOSPC
 */
export async function extractArchive(
  archive: Readable,
  folder: string,
  { isLeftOut = () => false }: ExtractOptions,
  signal: AbortSignal,
): Promise<void> {
  const entries = extract();
  const feeding = pipeline(archive, entries, { signal });
  // The loop reports the error.
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

/** The folder that is being written. */
class Tree {
  readonly #root: string;
  /** Folders that were created here, by relative path, with their final attributes. */
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
      // Devices and pipes are useless in a read-only volume.
    }
    entry.resume();
  }

  /** Sets the folders' owners, modes and times last, because writing into them changes these. */
  async finish(): Promise<void> {
    for (const [path, header] of [...this.#folders].reverse()) {
      if (!header) continue;
      await this.#own(path, header, () => chmod(this.#at(path), modeOf(header)));
    }
  }

  /** Creates a folder and its parents, unless they were created here. */
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

  /** Creates a hard link to an earlier entry. The entry may be a link, because links are not followed. */
  async #link(path: string, header: Header): Promise<void> {
    const names = namesOf(header.linkname, header);
    if (!this.#folders.has(names.slice(0, -1).join("/"))) throw hostile(header, `its target ${header.linkname} was not written before`);
    await refuseExisting(header, () => link(this.#at(names.join("/")), this.#at(path)));
  }

  async #own(path: string, header: Header, change?: () => Promise<void>): Promise<void> {
    await ignoreNotPermitted(() => lchown(this.#at(path), header.uid, header.gid));
    // Changing the owner clears set-user-id bits, so it comes before the mode.
    await change?.();
    await lutimes(this.#at(path), header.mtime, header.mtime);
  }

  #at(path: string): string {
    return join(this.#root, path);
  }
}

/** Parts of a path within the folder. A leading slash is dropped, as in tar. */
function namesOf(path: string, header: Header): readonly string[] {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..") || path.includes("\0")) throw hostile(header, `${JSON.stringify(path)} leads out of the folder`);
  if (names.length === 0 && header.type !== "directory") throw hostile(header, "it has no name");
  return names;
}

function hostile({ type, name }: Header, problem: string): InvalidInputError {
  return new InvalidInputError(`extract ${type} ${JSON.stringify(name)} of an archive: ${problem}`);
}

/** An existing name may be a link that leads out. The archive of a file system has each name once. */
async function refuseExisting<T>(header: Header, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw hostile(header, "something else of the archive is in its place");
    throw error;
  }
}

/** Without the right to change owners, files belong to the program's user, as with tar. */
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
