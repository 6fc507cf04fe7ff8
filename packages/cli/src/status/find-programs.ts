import { messageOf } from "@virtual-kubelet/errdefs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { CommandLine } from "../command-line/flag-parser.ts";
import { valueAt } from "../config/layers.ts";
import { readLayers } from "../config/load-settings.ts";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { certFolder, defaultCertDirectory, stateDirectory } from "../kubelet-server/cert-directory.ts";
import { hasErrorCode, socketsAmong, socketPrefix } from "../nodes/socket-folder.ts";
import { ConfigError, ProgramError } from "../program-error.ts";

/** A folder in which running programs have their sockets. */
interface SearchedFolder {
  readonly directory: string;
  /** Name of the node whose sockets are looked for; `undefined` for those of every node. */
  readonly nodeName: string | undefined;
}

/** Name of a status socket of any node. */
const anyStatusSocket = /^[^.].*\.status\.[\da-f-]+$/;

/** Where programs are looked for, and the names of the nodes if the settings have some. */
export interface Search {
  readonly folders: readonly SearchedFolder[];
  /** Empty for all nodes. */
  readonly nodeNames: readonly string[];
  /** The searched place in words. */
  readonly place: string;
}

/** A socket that was found. */
export interface FoundSocket {
  readonly directory: string;
  readonly name: string;
}

/**
 * Derives the folders from the settings of a run. Without a name of a node, all nodes of the state folder are looked for, because inside a
 * container the flags of the running program are not known.
 *
 * @throws ConfigError for a configuration that cannot be read, or has other names than texts
 */
export async function searchOf(line: CommandLine, context: Context): Promise<Search> {
  const { merged, nodeCount, nameOf, resolvePath } = await readLayers(line, context);
  const textAt = (path: readonly (string | number)[]): string | undefined => {
    const value = valueAt(merged.value, path);
    if (value === undefined || (typeof value === "string" && value !== "")) return value;
    throw new ConfigError(`${nameOf(path)}: ${JSON.stringify(value)}: expected some text`);
  };
  const nodeNames = Array.from({ length: nodeCount }, (_, index) => textAt(["nodes", index, "name"])).filter((name) => name !== undefined);
  const chosen = textAt(["kubelet", "certDirectory"]);
  const certDirectory = chosen === undefined ? undefined : resolvePath(["kubelet", "certDirectory"], chosen);
  if (nodeNames.length > 0) {
    // The socket of an entry with a count is in the folder of its first node.
    const socketOwners = Array.from({ length: nodeCount }, (_, index) => {
      const name = textAt(["nodes", index, "name"]);
      const isCounted = valueAt(merged.value, ["nodes", index, "count"]) !== undefined;
      return name === undefined || !isCounted ? name : `${name}-0`;
    }).filter((name) => name !== undefined);
    const folders = socketOwners.map((nodeName) => ({ nodeName, directory: certDirectory ?? defaultCertDirectory(nodeName, context) }));
    return { nodeNames, folders, place: [...new Set(folders.map(({ directory }) => directory))].join(", ") };
  }
  if (certDirectory !== undefined) return { nodeNames, folders: [{ directory: certDirectory, nodeName: undefined }], place: certDirectory };
  const state = stateDirectory(context);
  const names = await namesIn(state);
  const folders = names.map((name) => ({ directory: join(state, name, certFolder), nodeName: undefined }));
  return { nodeNames, folders, place: join(state, "*", certFolder) };
}

/** Finds the sockets in the folders; those of programs that were killed are among them. @throws ProgramError if a folder cannot be read */
export async function findSockets({ folders }: Search): Promise<FoundSocket[]> {
  const found: FoundSocket[] = [];
  for (const { directory, nodeName } of folders) {
    const names = await namesIn(directory);
    const wanted =
      nodeName === undefined ? names.filter((name) => anyStatusSocket.test(name)) : socketsAmong(names, socketPrefix(nodeName, "status"));
    found.push(...wanted.map((name) => ({ directory, name })));
  }
  return found;
}

/** Names in a folder; none if it does not exist. @throws ProgramError if it cannot be read */
async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (hasErrorCode(error, "ENOENT", "ENOTDIR")) return [];
    throw accessError(directory, error);
  }
}

/** The error of a folder or socket that this user may not open. */
export function accessError(path: string, error: unknown): ProgramError {
  const hint = hasErrorCode(error, "EACCES", "EPERM") ? "; run this as the user who runs the program, for example with sudo" : "";
  return new ProgramError(`status: ${path}: cannot be opened: ${messageOf(error)}${hint}`, exitCodes.failure.code, { cause: error });
}
