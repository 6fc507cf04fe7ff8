import { chmod, mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for one test. Disposing it removes it with its contents. */
export interface TempFolder extends AsyncDisposable {
  readonly path: string;
}

export async function tempFolder(): Promise<TempFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "vk-docker-")));
  return { path, [Symbol.asyncDispose]: () => remove(path) };
}

/** Removes the folder, including folders in it without write permission. */
async function remove(path: string): Promise<void> {
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true }))
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o700);
  await rm(path, { recursive: true, force: true });
}
