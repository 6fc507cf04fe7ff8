import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a directory and the parents it lacks. Fails where a file system has directories but takes no new ones, such as `/proc`: `mkdir`
 * of Node.js with `recursive` tries for ever there. Nothing happens where the directory is there.
 *
 * @param mode - of each directory that is made
 * @throws the system's error
 */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  if (await isDirectory(path)) return;
  const parent = dirname(path);
  if (parent !== path) await makeDirectory(parent, mode);
  try {
    await mkdir(path, { mode });
  } catch (error) {
    // Somebody else may have made it in between.
    if (!(await isDirectory(path))) throw error;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
