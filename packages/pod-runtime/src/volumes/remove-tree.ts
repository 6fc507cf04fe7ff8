import { mkdir, opendir, rename, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { hasFsCode } from "./fs-code.ts";

/** Number of files that are removed at once. */
const batchSize = 32;

/**
 * Removes a folder with everything in it, of any depth and with any names, without following links. A mount inside is never entered: it
 * fails the removal, and the rest stays for the next call.
 *
 * Each folder is moved into `workshop` before it is listed. So no path grows too long, and the system refuses to move a mount.
 *
 * @param workshop - a folder on the same file system for this call alone; created if needed, and removed with all its contents at the end
 */
export async function removeTree(path: string | undefined, workshop: string, signal: AbortSignal): Promise<void> {
  await mkdir(workshop, { recursive: true, mode: 0o700 });
  let moved = 0;
  /** Moves a folder into the workshop. */
  const takeIn = async (folder: string | Buffer): Promise<void> => {
    for (;;) {
      try {
        return await rename(folder, join(workshop, String(moved++)));
      } catch (error) {
        // The name is a leftover of an earlier attempt; a later one is free.
        if (!hasFsCode(error, "ENOTEMPTY", "EEXIST", "ENOTDIR")) throw error;
      }
    }
  };
  const removeEntry = async ({ path: entry, isFolder }: Entry): Promise<void> => (isFolder ? takeIn(entry) : unlink(entry));

  if (path !== undefined) await takeIn(path).catch(ignoreMissing);
  for (let isEmpty = false; !isEmpty;) {
    isEmpty = true;
    for await (const batch of entriesOf(workshop)) {
      signal.throwIfAborted();
      isEmpty = false;
      for (const entry of batch) {
        if (entry.isFolder) await removeFolder(entry.path, removeEntry, signal);
        else await unlink(entry.path);
      }
    }
  }
  await rmdir(workshop);
}

/** Removes a folder after its subfolders were moved out. */
async function removeFolder(path: Buffer, removeEntry: (entry: Entry) => Promise<void>, signal: AbortSignal): Promise<void> {
  for await (const batch of entriesOf(path)) {
    signal.throwIfAborted();
    await Promise.all(batch.map(removeEntry));
  }
  await rmdir(path).catch((error: unknown) => {
    // A listing can miss new entries: list again.
    if (!hasFsCode(error, "ENOTEMPTY", "EEXIST")) throw error;
  });
}

interface Entry {
  /** Names are bytes, because containers can create names that are not valid text. */
  readonly path: Buffer;
  readonly isFolder: boolean;
}

async function* entriesOf(folder: string | Buffer): AsyncGenerator<readonly Entry[]> {
  const prefix = Buffer.concat([typeof folder === "string" ? Buffer.from(folder) : folder, Buffer.from("/")]);
  let batch: Entry[] = [];
  for await (const entry of await opendir(folder, { encoding: "buffer" as BufferEncoding })) {
    // The types only allow strings.
    const name: unknown = entry.name;
    batch.push({ path: Buffer.concat([prefix, name as Buffer]), isFolder: entry.isDirectory() });
    if (batch.length < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function ignoreMissing(error: unknown): void {
  if (!hasFsCode(error, "ENOENT")) throw error;
}
