import { lstat, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Header } from "tar-stream";

/**
 * What an engine puts into every container before it starts, to be mounted over.
 * Source: `Setup` of moby v20.10 daemon/initlayer/setup_unix.go.
 */
const files: readonly string[] = [".dockerenv", "dev/console", "etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/mtab"];
const folders: readonly string[] = ["dev/pts", "dev/shm", "dev", "proc", "sys", "etc"];

/** Finds what is the engine's in the file system of a container that has not been started, so that the image's stays. */
export class EngineTraces {
  readonly #sinceMs: number;

  /** @param createdAt - when the container was made, as the engine says it; archives tell times in seconds */
  constructor(createdAt: string) {
    const ms = Date.parse(createdAt);
    this.#sinceMs = Number.isNaN(ms) ? Infinity : Math.floor(ms / 1000) * 1000;
  }

  /** Whether an entry of the container's archive is the engine's: an empty file, or a link, as new as the container. */
  isTrace({ name, type, size, mtime }: Header): boolean {
    const isEmpty = (type === "file" && size === 0) || type === "symlink";
    return isEmpty && files.includes(name.replace(/^(\.?\/)+/, "")) && this.#isNew(mtime);
  }

  /** Removes the folders that the engine made, where the image has nothing in them. */
  async removeFolders(root: string): Promise<void> {
    for (const name of folders) {
      // The image may have a link in a folder's place, which leads anywhere.
      const isWithin = await isFolder(join(root, dirname(name)));
      const found = isWithin ? await lstat(join(root, name)).catch(() => undefined) : undefined;
      // It refuses a folder that is not empty.
      if (found?.isDirectory() && this.#isNew(found.mtime)) await rmdir(join(root, name)).catch(() => {});
    }
  }

  #isNew(mtime: Date): boolean {
    return mtime.getTime() >= this.#sinceMs;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
