import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

/** A node name that is used unchanged in a file name. The name of an instance can be any text. */
const plainName = /^[\w.-]{1,40}$/;

/** Length of the hash that is used for another name. */
const hashLength = 40;

/** Maximum path length of a socket that every system supports, in bytes. */
const maxSocketPath = 100;

/** A folder with sockets: its path and open descriptor. */
export interface SocketFolder {
  readonly directory: string;
  readonly handle: Pick<FileHandle, "fd">;
}

/** Beginning of the names of a node's sockets of one kind. A random hexadecimal number follows, so that no name is used twice. */
export function socketPrefix(nodeName: string, kind: "lock" | "status"): string {
  const name = plainName.test(nodeName) ? nodeName : createHash("sha256").update(nodeName).digest("hex").slice(0, hashLength);
  return `${name}.${kind}.`;
}

/** Path of the socket. If it is too long and the system supports that, a path through the folder's descriptor. */
export function socketPath({ directory, handle }: SocketFolder, name: string): string {
  const path = join(directory, name);
  const byDescriptor = `/proc/self/fd/${handle.fd}`;
  return Buffer.byteLength(path) >= maxSocketPath && existsSync(byDescriptor) ? join(byDescriptor, name) : path;
}

/** Name of a socket before others may see it. */
export function hiddenName(name: string): string {
  return `.${name}`;
}

/** Sorted names of the sockets with a prefix. */
export async function socketNames(directory: string, prefix: string): Promise<string[]> {
  return socketsAmong(await readdir(directory), prefix);
}

/** Sorted names of the sockets with a prefix, of the names in a folder. */
export function socketsAmong(names: readonly string[], prefix: string): string[] {
  // The suffix is checked because one node may be called "a", and another one "a.lock.b".
  return names.filter((name) => name.startsWith(prefix) && /^[\da-f-]+$/.test(name.slice(prefix.length))).toSorted();
}

/** Whether the error has one of the system's error codes. */
export function hasErrorCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
