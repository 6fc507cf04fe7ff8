import { KeyedMutex } from "@virtual-kubelet/async";
import { chmod, mkdir, open, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasFsCode } from "../volumes/fs-code.ts";

/** Most that is read back, in bytes: containers may write to these files. */
const maxBytes = 1024 * 1024;

/** Files that the containers of a pod share, in its folder; everybody may read them. */
export class PodFiles {
  readonly #mutex = new KeyedMutex();

  /**
   * Makes a file say this. One that does already is left alone, so that containers go on sharing it; who has mounted another
   * keeps that.
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

  /** What a file says; `undefined` if there is none, or a container has made it larger than any of ours. */
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
