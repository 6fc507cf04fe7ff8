import { messageOf } from "@virtual-kubelet/errdefs";
import type { Clock, Logger } from "@virtual-kubelet/kube-client";
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { link, mkdir, open, rename, rm, type FileHandle } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { ConfigError } from "./program-error.ts";

/** Longest path of a socket that every system takes, in bytes. */
const maxSocketPath = 100;

/** Longest node name that is a file's name as it stands. */
const maxNameLength = 40;

/** How often a lock that nobody holds any more is taken away and tried again. */
const maxTries = 5;

/** How long a holder may take to say who it is, in milliseconds. */
const answerTimeoutMs = 2_000;

/** How long a program that stands by waits between two tries, in milliseconds. */
const standbyMs = 1_000;

/** What {@link lockNode} needs. */
export interface NodeLockOptions {
  readonly nodeName: string;
  /** Where the node's certificates are; made if it is not there. */
  readonly directory: string;
  /** Said to whoever comes second. */
  readonly pid: number;
  /** Wait for the first program to end instead of refusing. */
  readonly standby: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Holds a node against a second program on this host: two copies with one identity would take the node's Lease from each other in turn
 * for as long as something restarts them. The lock is a socket that the program listens on, so it ends with the process, however
 * that ends. Where none can be made the program goes on, since its Lease still says who holds the node.
 *
 * @returns what lets go of the node
 * @throws ConfigError if a living program has it, and this one does not stand by
 */
export async function lockNode(options: NodeLockOptions): Promise<AsyncDisposable> {
  const { nodeName, directory, standby, clock, logger, signal } = options;
  for (let isFirst = true; ; isFirst = false) {
    const outcome = await tryLock(options);
    if (outcome.kind === "locked") return outcome.lock;
    if (outcome.kind === "impossible") {
      logger.warn(
        { node: nodeName, err: messageOf(outcome.error) },
        "a second program on this host would not be noticed at once: no lock can be made beside the certificates",
      );
      return { [Symbol.asyncDispose]: () => Promise.resolve() };
    }
    const holder = `process ${outcome.holder}`;
    if (!standby)
      throw new ConfigError(
        `node ${nodeName}: ${holder} on this host runs it already (${join(directory, lockName(nodeName))}); ` +
          "stop that one, give this one another --nodename, or, where it is a node of another cluster, another --cert-dir",
      );
    if (isFirst) logger.info({ node: nodeName, holder }, "another program on this host runs the node; standing by");
    await clock.sleep(standbyMs, signal);
  }
}

/** The process id of the program on this host that runs the node, as far as it says; `undefined` if none does, or it cannot be told. */
export async function holderOf({ directory, nodeName }: Pick<NodeLockOptions, "directory" | "nodeName">): Promise<string | undefined> {
  try {
    await using opened = await open(directory);
    return await askHolder(socketPath(directory, lockName(nodeName), opened.fd));
  } catch {
    return undefined;
  }
}

type Outcome =
  | { readonly kind: "locked"; readonly lock: AsyncDisposable }
  /** `holder` is its process id, as far as it says. */
  | { readonly kind: "held"; readonly holder: string }
  | { readonly kind: "impossible"; readonly error: unknown };

async function tryLock({ directory, nodeName, pid }: NodeLockOptions): Promise<Outcome> {
  let opened: FileHandle | undefined;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    opened = await open(directory);
    const path = socketPath(directory, lockName(nodeName), opened.fd);
    for (let tries = 1; tries <= maxTries; tries++) {
      const server = await listenAt(path, pid);
      if (server) {
        const handle = opened;
        opened = undefined;
        return { kind: "locked", lock: { [Symbol.asyncDispose]: () => close(server, handle) } };
      }
      const holder = (await askHolder(path)) ?? (await removeDead(path));
      if (holder !== undefined) return { kind: "held", holder };
    }
    throw new Error(`${path} is taken and let go of all the time`);
  } catch (error) {
    return { kind: "impossible", error };
  } finally {
    await opened?.close();
  }
}

function lockName(nodeName: string): string {
  const name = nodeName.length <= maxNameLength ? nodeName : createHash("sha256").update(nodeName).digest("hex").slice(0, maxNameLength);
  return `${name}.lock`;
}

/** The socket's path; by the folder's descriptor where the path itself is too long for a socket and the system has that. */
function socketPath(directory: string, name: string, fd: number): string {
  const path = join(directory, name);
  const byDescriptor = `/proc/self/fd/${fd}`;
  return Buffer.byteLength(path) > maxSocketPath && existsSync(byDescriptor) ? join(byDescriptor, name) : path;
}

/** Listens, and tells each caller its process id. @returns `undefined` if the path is taken */
async function listenAt(path: string, pid: number): Promise<Server | undefined> {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.end(`${pid}\n`);
  });
  server.listen(path);
  try {
    await once(server, "listening");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return undefined;
    throw error;
  }
  server.unref();
  return server;
}

/** The process id of whoever listens; `undefined` if nobody does. */
async function askHolder(path: string): Promise<string | undefined> {
  const socket = connect(path);
  let said = "";
  try {
    await once(socket, "connect");
  } catch (error) {
    socket.destroy();
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ECONNREFUSED" || code === "ENOENT") return undefined;
    throw error;
  }
  socket.setTimeout(answerTimeoutMs, () => socket.destroy());
  try {
    for await (const chunk of socket) said += String(chunk);
  } catch {
    // A holder that ends this very moment, or hangs, is one all the same.
  }
  return said.trim() || "of an unknown id";
}

/**
 * Takes away a socket that nobody listens on. It is put aside first: another program may have found the same, and made a new one
 * in its place.
 *
 * @returns the process id of that other program
 */
async function removeDead(path: string): Promise<string | undefined> {
  const aside = `${path}.${randomUUID().slice(0, 8)}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  const holder = await askHolder(aside);
  if (holder !== undefined) await link(aside, path);
  await rm(aside, { force: true });
  return holder;
}

async function close(server: Server, directory: FileHandle): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  await directory.close();
}
