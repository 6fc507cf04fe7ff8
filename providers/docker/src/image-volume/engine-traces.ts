import { lstat, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Header } from "./tar-stream.ts";

/**
 * Files and folders that the engine adds to every container before its start, as mount points. Source: `Setup` of moby v20.10
 * daemon/initlayer/setup_unix.go.
 */
const files: readonly string[] = [".dockerenv", "dev/console", "etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/mtab"];
const folders: readonly string[] = ["dev/pts", "dev/shm", "dev", "proc", "sys", "etc"];

/** Recognizes the engine's own files in the file system of a container that was never started, so that only the image's are kept. */
export class EngineTraces {
  readonly #sinceMs: number;

  /** @param createdAt - creation of the container, from the engine; archives have times in seconds */
  constructor(createdAt: string) {
    const ms = Date.parse(createdAt);
    this.#sinceMs = Number.isNaN(ms) ? Infinity : Math.floor(ms / 1000) * 1000;
  }

  /** Whether an entry of the container's archive is the engine's: an empty file or a link that is as new as the container. */
  isTrace({ name, type, size, mtime }: Header): boolean {
    const isEmpty = (type === "file" && size === 0) || type === "symlink";
    return isEmpty && files.includes(name.replace(/^(\.?\/)+/, "")) && this.#isNew(mtime);
  }

  /** Removes folders that the engine created, if they are empty. */
  async removeFolders(root: string): Promise<void> {
    for (const name of folders) {
      // The image may have a link in place of the folder.
      const isWithin = await isFolder(join(root, dirname(name)));
      const found = isWithin ? await lstat(join(root, name)).catch(() => undefined) : undefined;
      // rmdir fails for a folder that is not empty.
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
