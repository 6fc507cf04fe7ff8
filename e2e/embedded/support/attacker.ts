import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { constants, deflateRawSync } from "node:zlib";
import type { ServerLimits } from "@virtual-kubelet/kubelet-api";
import type { AttackedServerAddress, Usage } from "./attacked-server.ts";

/** Options of {@link AttackedServer}. */
export interface AttackedServerOptions {
  readonly heapMiB: number;
  /** Default: the defaults. */
  readonly limits?: ServerLimits | undefined;
}

/** The server in its own process, with a heap at most as large as in a container of 512 MiB. */
export class AttackedServer implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #sockets = new Set<TLSSocket>();
  #address: AttackedServerAddress = { port: 0, ca: "" };
  readonly #ended = Promise.withResolvers<void>();
  /** How the process exited, if it did. */
  end: string | undefined;

  private constructor({ heapMiB, limits = {} }: AttackedServerOptions) {
    const program = fileURLToPath(new URL("attacked-server.ts", import.meta.url));
    this.#process = fork(program, [JSON.stringify(limits)], {
      execArgv: ["--conditions=@virtual-kubelet/source", `--max-old-space-size=${heapMiB}`, "--expose-gc"],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#process.stderr?.resume();
    this.#process.once("exit", (code, signal) => {
      this.end = `ended with ${code ?? signal}`;
      this.#ended.resolve();
    });
  }

  static async start(options: AttackedServerOptions): Promise<AttackedServer> {
    const started = new AttackedServer(options);
    [started.#address] = (await once(started.#process, "message")) as [AttackedServerAddress];
    return started;
  }

  /** Resource usage of the process after a garbage collection. @throws if the process has exited */
  async usage(): Promise<Usage> {
    if (this.end === undefined) {
      const answer = new Promise<Usage>((resolve) => this.#process.once("message", resolve));
      this.#process.send("usage", () => {});
      const usage = await Promise.race([answer, this.#ended.promise]);
      if (usage) return usage;
    }
    throw new Error(`the server's process ${this.end}`);
  }

  /** A TLS connection whose errors are ignored. */
  async connect(): Promise<TLSSocket> {
    const { port, ca } = this.#address;
    const socket = connect({ host: "127.0.0.1", port, ca });
    this.#sockets.add(socket);
    socket.on("error", () => {}).once("close", () => this.#sockets.delete(socket));
    await once(socket, "secureConnect");
    return socket;
  }

  /** Opens a connection, sends a request and reads the head of the response, but nothing after it. */
  async request(method: string, path: string, headers: readonly string[]): Promise<{ readonly socket: TLSSocket; readonly head: string }> {
    const socket = await this.connect();
    socket.write(`${method} ${path} HTTP/1.1\r\n${["Host: x", ...headers].join("\r\n")}\r\n\r\n`);
    const [head] = (await once(socket, "data").catch(() => [Buffer.alloc(0)])) as [Buffer];
    return { socket: socket.pause(), head: head.toString("latin1") };
  }

  /** Upgrades a connection to SPDY with the protocol version that exec (version 4) or port-forward requires. */
  upgrade(user: string, path: string): Promise<{ readonly socket: TLSSocket; readonly head: string }> {
    const version = path.startsWith("/portForward") ? "portforward.k8s.io" : "v4.channel.k8s.io";
    return this.request("POST", path, [
      `X-User: ${user}`,
      "Connection: Upgrade",
      "Upgrade: SPDY/3.1",
      `X-Stream-Protocol-Version: ${version}`,
    ]);
  }

  /** Reads a log as another caller: status and text. */
  async log(user: string, path: string): Promise<string> {
    const socket = await this.connect();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-User: ${user}\r\nConnection: close\r\n\r\n`);
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
    if (!socket.closed) await once(socket, "close");
    return `${/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? "no answer"} ${/a line/.exec(text)?.[0] ?? text.slice(-100)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (this.end !== undefined) return;
    this.#process.kill("SIGKILL");
    await this.#ended.promise;
  }
}

/** SPDY/3.1 frames with maximum compression, so that a small message occupies much memory on the other side. */
export class SpdyAttack {
  #begun = false;

  /** SYN_STREAM with these headers. */
  open(id: number, headers: Readonly<Record<string, string>>): Buffer {
    const plain: Buffer[] = [word(Object.keys(headers).length)];
    for (const [name, value] of Object.entries(headers))
      plain.push(word(name.length), Buffer.from(name), word(value.length), Buffer.from(value, "latin1"));
    const deflated = deflateRawSync(Buffer.concat(plain), { finishFlush: constants.Z_SYNC_FLUSH });
    // A zlib stream with SPDY's dictionary, to which its data does not refer.
    const block = this.#begun ? deflated : Buffer.concat([Buffer.from("78bbe3c6a7c2", "hex"), deflated]);
    this.#begun = true;
    const head = Buffer.alloc(18);
    head.writeUInt32BE(0x8003_0001, 0);
    head.writeUInt32BE(10 + block.length, 4);
    head.writeUInt32BE(id, 8);
    return Buffer.concat([head, block]);
  }

  /** The two streams of a forward. */
  forward(index: number, port: number): Buffer {
    const request = { port: String(port), requestid: String(index) };
    return Buffer.concat([
      this.open(4 * index + 1, { streamtype: "error", ...request }),
      this.open(4 * index + 3, { streamtype: "data", ...request }),
    ]);
  }

  /** Streams of an exec with input and output. */
  exec(): Buffer {
    return Buffer.concat(["error", "stdin", "stdout"].map((streamtype, index) => this.open(2 * index + 1, { streamtype })));
  }
}

/** RST_STREAM. */
export function resetFrame(id: number): Buffer {
  return Buffer.concat([Buffer.from("8003000300000008", "hex"), word(id), word(5)]);
}

/** DATA. */
export function dataFrame(id: number, data: Buffer): Buffer {
  return Buffer.concat([word(id), word(data.length), data]);
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}
