import { constants, type Stats } from "node:fs";
import { chmod, lchown, lstat, opendir, stat } from "node:fs/promises";

/** Number of files that are changed at once. */
const batchSize = 32;

const { S_IRGRP, S_IWGRP, S_IRUSR, S_IWUSR, S_IXUSR, S_IXGRP } = constants;
const setGid = 0o2000;
const fileBits = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP;
const folderBits = fileBits | S_IXUSR | S_IXGRP;

/**
 * Whether the volume's folder shows that it was not given to the group before. Source: requiresPermissionChange of kubernetes v1.36.3
 * pkg/volume/volume_linux.go.
 */
export async function needsGroup(path: string, group: number): Promise<boolean> {
  const { gid, mode } = await stat(path);
  return gid !== group || (mode & (folderBits | setGid)) !== (folderBits | setGid);
}

/**
 * Gives everything in a volume to a group with read and write permission, the volume's own folder last. Files that cannot be changed are
 * left. Source: changePermissionsRecursively of kubernetes v1.36.3 pkg/volume/volume_linux.go.
 *
 * @throws an Error for a folder that cannot be listed; `signal.reason`
 */
export async function giveToGroup(path: string, group: number, signal: AbortSignal): Promise<void> {
  await giveEntry(Buffer.from(path), group, signal);
}

async function giveEntry(path: Buffer, group: number, signal: AbortSignal): Promise<void> {
  const found = await lstat(path);
  if (found.isDirectory()) {
    for await (const batch of entriesOf(path)) {
      signal.throwIfAborted();
      // One folder at a time, because a deep tree would exhaust the open files.
      await Promise.all(batch.filter(({ isFolder }) => !isFolder).map((entry) => giveEntry(entry.path, group, signal)));
      for (const entry of batch) if (entry.isFolder) await giveEntry(entry.path, group, signal);
    }
  }
  await change(path, found, group);
}

async function change(path: Buffer, found: Stats, group: number): Promise<void> {
  try {
    await lchown(path, -1, group);
    // chmod would follow the link.
    if (found.isSymbolicLink()) return;
    const bits = found.isDirectory() ? folderBits | setGid : fileBits;
    await chmod(path, (found.mode & 0o7777) | bits);
  } catch {
    // Like a kubelet, continues: the file system may not support groups.
  }
}

/** Names are bytes, because containers can create names that are not valid text. */
async function* entriesOf(folder: Buffer): AsyncGenerator<readonly { readonly path: Buffer; readonly isFolder: boolean }[]> {
  const prefix = Buffer.concat([folder, Buffer.from("/")]);
  let batch: { path: Buffer; isFolder: boolean }[] = [];
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
