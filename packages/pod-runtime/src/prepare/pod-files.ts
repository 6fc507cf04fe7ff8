import { KeyedMutex } from "@virtual-kubelet/async";
import { chmod, mkdir, open, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasFsCode } from "../volumes/fs-code.ts";

/** Maximum bytes read back. Containers can write to these files, so the size is not trusted. */
const maxBytes = 1024 * 1024;

/** World-readable files in the pod's folder that its containers share. */
export class PodFiles {
  readonly #mutex = new KeyedMutex();

  /**
   * Writes a file, unless it has this content already, so that running containers keep sharing it. Containers that mount an older file keep
   * that one.
   *
   * @returns its path
   */
  write(folder: string, name: string, content: string): Promise<string> {
    const path = join(folder, name);
    return this.#mutex.run(path, async () => {
      if ((await this.tryRead(folder, name)) === content) return path;
      const unfinished = `${path}.unfinished`;
      await mkdir(folder, { recursive: true, mode: 0o750 });
      await writeFile(unfinished, content);
      await chmod(unfinished, 0o644);
      await rename(unfinished, path);
      return path;
    });
  }

  /** Content of a file; `undefined` if it does not exist, or a container has made it too large. */
  async tryRead(folder: string, name: string): Promise<string | undefined> {
    try {
      await using file = await open(join(folder, name));
      const { size } = await file.stat();
      if (size > maxBytes) return undefined;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(1, size)), 0, size, 0);
      return buffer.toString("utf8", 0, bytesRead);
    } catch (error) {
      if (hasFsCode(error, "ENOENT")) return undefined;
      throw error;
    }
  }
}
