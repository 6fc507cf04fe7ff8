import { makeDirectory } from "@virtual-kubelet/core";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { startSmallServer, type SmallAnswer, type SmallRequest } from "../http/small-server.ts";
import { hasErrorCode, hiddenName, socketNames, socketPath, socketPrefix, type SocketFolder } from "../nodes/socket-folder.ts";

/** Age at which a folder in which a socket was made belongs to a program that was killed, in milliseconds. */
const unfinishedMs = 60_000;

/** Name of the socket in the folder in which it is made. */
const newSocket = "s";

export interface StatusSocketOptions {
  readonly nodeName: string;
  /** Folder of the node's certificates; created if missing. */
  readonly directory: string;
  readonly answer: (request: SmallRequest) => SmallAnswer;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Serves a node's state on a Unix socket that only the program's user can open. Each program has a socket of its own, because one that stands
 * by uses the same folder; sockets of programs that were killed are removed.
 *
 * @throws the system's error if the socket cannot be created
 */
export async function openStatusSocket({ nodeName, directory, answer, now }: StatusSocketOptions): Promise<AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  await makeDirectory(directory, 0o700);
  const folder: SocketFolder = { directory, handle: opened.use(await open(directory)) };
  const prefix = socketPrefix(nodeName, "status");
  await removeDeadSockets(folder, prefix, now());
  const name = `${prefix}${randomUUID().slice(0, 13)}`;
  const path = socketPath(folder, name);
  // Nobody else can enter this folder, so the socket has its permissions before others can reach it.
  const made = socketPath(folder, hiddenName(name));
  await mkdir(made, { mode: 0o700 });
  opened.defer(() => rm(made, { recursive: true, force: true }));
  const bound = socketPath(folder, join(hiddenName(name), newSocket));
  opened.use(await startSmallServer({ path: bound }, answer));
  await chmod(bound, 0o600);
  await rename(bound, path);
  opened.defer(() => rm(path, { force: true }));
  await rm(made, { recursive: true, force: true });
  return opened.move();
}

async function removeDeadSockets(folder: SocketFolder, prefix: string, nowMs: number): Promise<void> {
  for (const name of await socketNames(folder.directory, prefix)) {
    const path = socketPath(folder, name);
    if (!(await isListening(path))) await rm(path, { force: true });
  }
  for (const name of await readdir(folder.directory)) {
    if (!name.startsWith(hiddenName(prefix))) continue;
    const path = join(folder.directory, name);
    const changedMs = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => nowMs,
    );
    if (nowMs - changedMs > unfinishedMs) await rm(path, { recursive: true, force: true });
  }
}

/** Whether a program listens. Names are never used twice, so one on which nobody listens belongs to a program that has ended. */
async function isListening(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch (error) {
    return !hasErrorCode(error, "ECONNREFUSED", "ENOENT");
  } finally {
    socket.destroy();
  }
}
