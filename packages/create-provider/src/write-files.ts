import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CreateError } from "./create-error.ts";

/**
 * Checks that a folder can be written: it is new, or empty except for `.git`.
 *
 * @param shown - folder as the user wrote it
 * @throws CreateError
 */
export async function checkDirectory(path: string, shown: string): Promise<void> {
  try {
    const entries = (await readdir(path)).filter((entry) => entry !== ".git");
    if (entries.length > 0)
      throw new CreateError(`--directory: ${JSON.stringify(shown)}: it contains ${entries[0]}, expected a new or empty folder`);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return;
    if (code === "ENOTDIR")
      throw new CreateError(`--directory: ${JSON.stringify(shown)}: it is a file, expected a folder`, { cause: error });
    throw error;
  }
}

/** Writes files into a folder, which is created. An existing file is left alone, and is an error. */
export async function writeFiles(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const target = join(directory, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text, { flag: "wx" });
  }
}
