import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasFsCode } from "../volumes/fs-code.ts";
import { InTurn } from "../volumes/in-turn.ts";

/** Files that the containers of a pod share, in its folder; everybody may read them. */
export class PodFiles {
  readonly #turns = new InTurn();

  /**
   * Makes a file say this. One that does already is left alone, so that containers go on sharing it; who has mounted another
   * keeps that.
   *
   * @returns its path
   */
  write(folder: string, name: string, content: string): Promise<string> {
    const path = join(folder, name);
    return this.#turns.run(path, async () => {
      if ((await this.tryRead(folder, name)) === content) return path;
      const unfinished = `${path}.unfinished`;
      await mkdir(folder, { recursive: true, mode: 0o750 });
      await writeFile(unfinished, content);
      await chmod(unfinished, 0o644);
      await rename(unfinished, path);
      return path;
    });
  }

  /** What a file says; `undefined` if there is none. */
  async tryRead(folder: string, name: string): Promise<string | undefined> {
    try {
      return await readFile(join(folder, name), "utf8");
    } catch (error) {
      if (hasFsCode(error, "ENOENT")) return undefined;
      throw error;
    }
  }
}
