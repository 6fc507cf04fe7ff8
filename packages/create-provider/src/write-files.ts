import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CreateError } from "./create-error.ts";

/**
 * Checks that a folder can be written: it is new, or empty but for `.git`.
 *
 * @param shown - the folder as the person wrote it
 * @throws CreateError
 */
export async function checkDirectory(path: string, shown: string): Promise<void> {
  try {
    const entries = (await readdir(path)).filter((entry) => entry !== ".git");
    if (entries.length > 0)
      throw new CreateError(`--directory: ${JSON.stringify(shown)}: it holds ${entries[0]}, expected a folder that is new or empty`);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return;
    if (code === "ENOTDIR")
      throw new CreateError(`--directory: ${JSON.stringify(shown)}: there is a file, expected a folder`, { cause: error });
    throw error;
  }
}

/** Writes texts by path into a folder, which is made. A file that is there already is left alone, and is an error. */
export async function writeFiles(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const target = join(directory, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text, { flag: "wx" });
  }
}
