import type { Clock } from "@virtual-kubelet/clock";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { rename, rm } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { hasErrorCode, hiddenName, socketNames, socketPath, type SocketFolder } from "./socket-folder.ts";

/** Timeout for a program to send its process ID, in milliseconds. */
const answerTimeoutMs = 2_000;

/** Timeout for a program to decide. If two programs each took the other for the holder, both would give up. */
const decisionTimeoutMs = 10_000;

/** Maximum attempts to create a claim. */
const maxTries = 5;

const held = "held";

/** Folder of the claims, the name prefix of one node's claims, and a clock. */
export interface ClaimFolder extends SocketFolder {
  readonly prefix: string;
  readonly clock: Clock;
}

/**
 * A program's claim on a node: a uniquely named socket that the program listens on. Names are never reused, so a socket on which nobody
 * listens belongs to a dead program, and may be removed by anybody.
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

  /**
   * Creates a claim that others can see. Each caller is sent `pid` immediately, and `held` as soon as this program {@link hold holds} the
   * node.
   */
  static async make(folder: ClaimFolder, pid: number): Promise<Claim> {
    for (let tries = 1; ; tries++) {
      try {
        return await Claim.#tryMake(folder, pid);
      } catch (error) {
        // The holder of the node may have removed the socket, taking it for one of a killed program.
        if (!hasErrorCode(error, "ENOENT") || tries === maxTries) throw error;
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
    // A socket has a name before it listens, so it gets the name that others look for only afterwards.
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

  /** Tells all current and future callers that this program holds the node. */
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

/** Sorted names of the claims in a folder. */
export function claimsIn({ directory, prefix }: ClaimFolder): Promise<string[]> {
  return socketNames(directory, prefix);
}

/**
 * Removes sockets of programs that were killed while they created their claims. Only the holder of the node may do that: a program that is
 * creating its claim at this moment loses it, and tries again.
 */
export async function removeUnfinished(folder: ClaimFolder): Promise<void> {
  const names = await socketNames(folder.directory, hiddenName(folder.prefix));
  await Promise.all(names.map((name) => rm(socketPath(folder, name), { force: true })));
}

/** Process ID that a claim's program reports; `undefined` if no such program runs. */
export async function askPid(folder: ClaimFolder, name: string): Promise<string | undefined> {
  const answer = await ask(folder, name, { timeoutMs: answerTimeoutMs, isEnough: (said) => said.includes("\n") });
  return answer && pidIn(answer.said);
}

/** Answer of a claim's program. */
export interface Decision {
  /** Process ID that the program reports. */
  readonly pid: string;
  /** Whether it holds the node. A program that has not decided within 10 seconds counts as the holder. */
  readonly isHeld: boolean;
}

/** Waits until a claim's program holds the node or gives up its claim. @returns `undefined` if no such program runs */
export async function askDecision(folder: ClaimFolder, name: string): Promise<Decision | undefined> {
  const answer = await ask(folder, name, { timeoutMs: decisionTimeoutMs, isEnough: () => false });
  return answer && { pid: pidIn(answer.said), isHeld: answer.isOverdue || answer.said.endsWith(`\n${held}\n`) };
}

function pidIn(said: string): string {
  return said.split("\n", 1)[0] || "of an unknown id";
}

/** Reads from a claim's program until it has sent enough, ends, or times out. The socket of an ended program is removed. */
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
    // A program that accepts no connection is alive, but stopped or very busy: its backlog is full.
    if (hasErrorCode(error, "EAGAIN")) return { said: "", isOverdue: true };
    // A reset means that the listener closed before accepting this connection.
    if (!hasErrorCode(error, "ECONNREFUSED", "ECONNRESET", "ENOENT")) throw error;
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
    // A program that ends at this moment has already sent its answer.
  }
  return { said, isOverdue };
}
