import type { Clock } from "@virtual-kubelet/clock";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, rename, rm, type FileHandle } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

/** Longest path of a socket that every system takes, in bytes. */
const maxSocketPath = 100;

/** How long a program may take to say who it is, in milliseconds. */
const answerTimeoutMs = 2_000;

/** How long it may take to decide. Two that take each other for one that holds the node would both give up. */
const decisionTimeoutMs = 10_000;

/** How often a claim is made before it is given up. */
const maxTries = 5;

const held = "held";

/** The folder of the claims: its path, its open descriptor, the start of the names of one node's claims, and the clock they go by. */
export interface ClaimFolder {
  readonly directory: string;
  readonly handle: FileHandle;
  readonly prefix: string;
  readonly clock: Clock;
}

/**
 * A program's claim on a node: a socket with a name of its own that the program listens on. The name is never used again, so a socket
 * that was seen in the folder and on which nobody listens is dead for good, and anybody may take it away.
 */
export class Claim implements AsyncDisposable {
  readonly name: string;
  readonly #server: Server;
  readonly #path: string;
  readonly #asking: Set<Socket>;

  private constructor(name: string, { server, path, asking }: { server: Server; path: string; asking: Set<Socket> }) {
    this.name = name;
    this.#server = server;
    this.#path = path;
    this.#asking = asking;
  }

  /** Makes a claim that others see. Each caller is told `pid` at once, and `held` as soon as this program {@link hold holds} the node. */
  static async make(folder: ClaimFolder, pid: number): Promise<Claim> {
    for (let tries = 1; ; tries++) {
      try {
        return await Claim.#tryMake(folder, pid);
      } catch (error) {
        // Whoever got the node meanwhile took it for a socket that a killed program left behind.
        if (!hasCode(error, "ENOENT") || tries === maxTries) throw error;
      }
    }
  }

  static async #tryMake(folder: ClaimFolder, pid: number): Promise<Claim> {
    const name = `${folder.prefix}${randomUUID().slice(0, 13)}`;
    const path = socketPath(folder, name);
    const asking = new Set<Socket>();
    const server = createServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.on("close", () => asking.delete(socket));
      asking.add(socket);
      socket.write(`${pid}\n`);
    });
    // A socket has its name before anybody can connect to it, so it gets the name that others look for only once it listens.
    const hidden = socketPath(folder, hiddenName(name));
    server.listen(hidden);
    await once(server, "listening");
    server.unref();
    const claim = new Claim(name, { server, path, asking });
    try {
      await rename(hidden, path);
    } catch (error) {
      await claim[Symbol.asyncDispose]();
      throw error;
    }
    return claim;
  }

  /** Tells everybody who asked, and who will ask, that this program holds the node. */
  hold(): void {
    const tell = (socket: Socket): void => void socket.end(`${held}\n`);
    this.#server.on("connection", tell);
    this.#asking.forEach(tell);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#path, { force: true });
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#asking) socket.destroy();
    await closed;
  }
}

/** The names of the claims in a folder, in order. */
export function claimsIn({ directory, prefix }: ClaimFolder): Promise<string[]> {
  return namesOf(directory, prefix);
}

/**
 * Removes the sockets of programs that were killed while they made their claims. Only the program that holds the node may: one that
 * is making its claim at this moment loses it, and makes another.
 */
export async function removeUnfinished(folder: ClaimFolder): Promise<void> {
  const names = await namesOf(folder.directory, hiddenName(folder.prefix));
  await Promise.all(names.map((name) => rm(socketPath(folder, name), { force: true })));
}

async function namesOf(directory: string, prefix: string): Promise<string[]> {
  const names = await readdir(directory);
  // The rest is checked as well: a node may be called "a", and another one "a.lock.b".
  return names.filter((name) => name.startsWith(prefix) && /^[\da-f-]+$/.test(name.slice(prefix.length))).toSorted();
}

function hiddenName(name: string): string {
  return `.${name}`;
}

/** The process id of a claim's program, as far as it says; `undefined` if there is no such program. */
export async function askPid(folder: ClaimFolder, name: string): Promise<string | undefined> {
  const answer = await ask(folder, name, { timeoutMs: answerTimeoutMs, isEnough: (said) => said.includes("\n") });
  return answer && pidIn(answer.said);
}

/** What a claim's program answers. */
export interface Decision {
  /** Its process id, as far as it says. */
  readonly pid: string;
  /** Whether it holds the node. A program that has not decided after 10 seconds counts as one that does. */
  readonly isHeld: boolean;
}

/** Waits until a claim's program holds the node or gives its claim up. @returns `undefined` if there is no such program */
export async function askDecision(folder: ClaimFolder, name: string): Promise<Decision | undefined> {
  const answer = await ask(folder, name, { timeoutMs: decisionTimeoutMs, isEnough: () => false });
  return answer && { pid: pidIn(answer.said), isHeld: answer.isOverdue || answer.said.endsWith(`\n${held}\n`) };
}

function pidIn(said: string): string {
  return said.split("\n", 1)[0] || "of an unknown id";
}

/** Listens to a claim's program until it has said enough, ends, or says nothing for too long. The socket of one that has ended is removed. */
async function ask(
  folder: ClaimFolder,
  name: string,
  { timeoutMs, isEnough }: { readonly timeoutMs: number; readonly isEnough: (said: string) => boolean },
): Promise<{ readonly said: string; readonly isOverdue: boolean } | undefined> {
  const path = socketPath(folder, name);
  const socket = connect(path);
  try {
    await once(socket, "connect");
  } catch (error) {
    socket.destroy();
    // Who takes no connection lives, but is stopped or very busy: its backlog is full.
    if (hasCode(error, "EAGAIN")) return { said: "", isOverdue: true };
    // A reset is a listener that closed before it took this connection.
    if (!hasCode(error, "ECONNREFUSED", "ECONNRESET", "ENOENT")) throw error;
    await rm(path, { force: true });
    return undefined;
  }
  let said = "";
  let isOverdue = false;
  using _timer = folder.clock.setTimer(timeoutMs, () => {
    isOverdue = true;
    socket.destroy();
  });
  try {
    for await (const chunk of socket) {
      said += String(chunk);
      if (isEnough(said)) break;
    }
  } catch {
    // A program that ends this very moment has said what it had to say.
  }
  return { said, isOverdue };
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** The socket's path; by the folder's descriptor where the path itself is too long for a socket and the system has that. */
function socketPath({ directory, handle }: ClaimFolder, name: string): string {
  const path = join(directory, name);
  const byDescriptor = `/proc/self/fd/${handle.fd}`;
  return Buffer.byteLength(path) >= maxSocketPath && existsSync(byDescriptor) ? join(byDescriptor, name) : path;
}
