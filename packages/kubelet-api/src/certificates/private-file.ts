import { messageOf } from "@virtual-kubelet/errdefs";
import { open, rename, rm } from "node:fs/promises";

/**
 * Writes a file that only its owner can read (0600). The file is replaced as a whole: after a crash it has either the previous or the new
 * content.
 *
 * @param path - in an existing folder
 * @throws Error that names the file, with the system's error as its cause
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  try {
    await replace(path, text);
  } catch (error) {
    throw new Error(`write ${path}: ${messageOf(error)}`, { cause: error });
  }
}

async function replace(path: string, text: string): Promise<void> {
  const next = `${path}.new`;
  // Creates a new file, because an existing path could be somebody's link, through which the keys would leak.
  await rm(next, { force: true });
  {
    await using file = await open(next, "wx", 0o600);
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
  }
  await rename(next, path);
}
