import { mkdir, opendir, rename, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { hasFsCode } from "./fs-code.ts";

/** How many files are removed at once. */
const batchSize = 32;

/**
 * Removes a folder and all in it, however deep and however named, and follows no link. What is mounted within is never
 * entered: it stops it, and the rest stays for the next time.
 *
 * It goes by moving each folder into `workshop` before it is looked at, so that no path grows too long; and the system
 * refuses to move a mount.
 *
 * @param workshop - a folder of its own on the same file system; made if it is not there, and gone in the end. What it holds
 * is removed, too
 */
export async function removeTree(path: string | undefined, workshop: string, signal: AbortSignal): Promise<void> {
  await mkdir(workshop, { recursive: true, mode: 0o700 });
  let moved = 0;
  /** Moves a folder to where its path is short. */
  const takeIn = async (folder: string | Buffer): Promise<void> => {
    for (;;) {
      try {
        return await rename(folder, join(workshop, String(moved++)));
      } catch (error) {
        // A name that an earlier attempt has left: the next one is free some time.
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

/** Removes a folder whose own folders are taken in. */
async function removeFolder(path: Buffer, removeEntry: (entry: Entry) => Promise<void>, signal: AbortSignal): Promise<void> {
  for await (const batch of entriesOf(path)) {
    signal.throwIfAborted();
    await Promise.all(batch.map(removeEntry));
  }
  await rmdir(path).catch((error: unknown) => {
    // A listing may leave out what came meanwhile; it is looked at again.
    if (!hasFsCode(error, "ENOTEMPTY", "EEXIST")) throw error;
  });
}

interface Entry {
  /** Bytes: a container may give names that are no text. */
  readonly path: Buffer;
  readonly isFolder: boolean;
}

async function* entriesOf(folder: string | Buffer): AsyncGenerator<readonly Entry[]> {
  const prefix = Buffer.concat([typeof folder === "string" ? Buffer.from(folder) : folder, Buffer.from("/")]);
  let batch: Entry[] = [];
  for await (const entry of await opendir(folder, { encoding: "buffer" as BufferEncoding })) {
    // Its types know of texts only.
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
