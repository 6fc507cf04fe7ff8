import type { Random } from "@virtual-kubelet/clock";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import type { ContainerRun, HostSession, HostTerminalSize } from "../../support/container-host/container-host.ts";

/** A command or an attached client that waits for its connection. */
export interface PendingSession {
  readonly kind: "exec" | "attach";
  readonly password: string;
  open(): Promise<HostSession>;
}

/** Faults of connections. */
export interface SocketFaults {
  /** Maximum bytes of a message that the server sends; splits characters. Default: no limit. */
  messageBytes?: number | undefined;
}

/**
 * WebSockets of commands and attached clients. The first message of a command's client is its password, as text; then bytes are input. An attached
 * client sends the password in the header `Authorization`. Output is one stream of binary messages; the exit code is not sent. The size of the
 * terminal is set once.
 */
export class ExecSockets implements AsyncDisposable {
  readonly faults: SocketFaults = {};
  readonly #random: Random;
  readonly #pending = new Map<string, PendingSession>();
  readonly #sockets = new Map<WebSocket, Duplex>();
  readonly #server = new WebSocketServer({ noServer: true });

  constructor(random: Random) {
    this.#random = random;
  }

  /** Number of open connections. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Prepares a command. @param base - URL of the server, such as `wss://127.0.0.1:443` */
  prepareExec(base: string, run: ContainerRun, command: readonly string[], terminal: HostTerminalSize): object {
    return this.#prepare(base, { kind: "exec", password: this.#random.uuid(), open: () => run.exec(command, { terminal }) });
  }

  /** Prepares an attached client. */
  prepareAttach(base: string, run: ContainerRun): object {
    return this.#prepare(base, { kind: "attach", password: this.#random.uuid(), open: () => run.attach() });
  }

  /** Accepts or refuses a connection. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const [, id = ""] = /^\/exec-sessions\/([^/?]+)/.exec(request.url ?? "") ?? [];
    const pending = this.#pending.get(id);
    const isAllowed = pending?.kind === "exec" || (pending !== undefined && request.headers.authorization === pending.password);
    if (!pending || !isAllowed) {
      socket.end(`HTTP/1.1 ${pending ? "401 Unauthorized" : "404 Not Found"}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    // A session can be used once.
    this.#pending.delete(id);
    this.#server.handleUpgrade(request, socket, head, (accepted) => {
      this.#sockets.set(accepted, socket);
      accepted.on("error", () => {});
      accepted.once("close", () => this.#sockets.delete(accepted));
      if (pending.kind === "attach") void this.#connect(accepted, pending);
      else
        accepted.once("message", (data: Buffer, isBinary: boolean) => {
          if (isBinary || data.toString("utf8") !== pending.password) accepted.close(1008, "The password is wrong.");
          else void this.#connect(accepted, pending);
        });
    });
  }

  /** Cuts all connections without a close frame. */
  cutAll(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cutAll();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #prepare(base: string, session: PendingSession): object {
    const id = this.#random.uuid();
    this.#pending.set(id, session);
    return { webSocketUri: `${base}/exec-sessions/${id}?rows=1&cols=1&api-version=2018-02-01-preview`, password: session.password };
  }

  async #connect(socket: WebSocket, { kind, open }: PendingSession): Promise<void> {
    let session: HostSession;
    // Input that arrives before the command has started is kept by the socket.
    socket.pause();
    try {
      session = await open();
    } catch (error) {
      socket.close(1011, error instanceof Error ? error.message.slice(0, 100) : "The container does not run.");
      return;
    }
    const { stream } = session;
    if (kind === "exec") socket.on("message", (data: Buffer) => void (stream.writable && stream.write(data)));
    socket.once("close", () => session.close());
    socket.resume();
    stream.on("data", (chunk: Buffer) => this.#send(socket, chunk));
    const closed = new Promise<void>((resolve) => {
      for (const event of ["end", "close"] as const) stream.once(event, () => resolve());
    });
    await closed;
    await session.exitCode;
    socket.close(1000);
  }

  #send(socket: WebSocket, chunk: Buffer): void {
    const size = this.faults.messageBytes ?? chunk.length;
    for (let at = 0; at < chunk.length; at += size) if (socket.readyState === socket.OPEN) socket.send(chunk.subarray(at, at + size));
  }
}
