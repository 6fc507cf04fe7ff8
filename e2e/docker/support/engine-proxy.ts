import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline, type Duplex } from "node:stream";
import type { EngineApi } from "./engine-api.ts";

/** What the engine would have answered. */
interface FaultAnswer {
  readonly status: number;
  readonly message: string;
}

/** What a proxy does to requests, by method, path without version, and query; `undefined` lets one through. It never rejects. */
export type EngineFault = (
  method: string,
  path: string,
  query: URLSearchParams,
) => Promise<FaultAnswer | undefined> | FaultAnswer | undefined;

/** A way to an engine that can be cut, or can answer in its stead. Disposing it ends it, not the engine. */
export class EngineProxy implements AsyncDisposable {
  /** For the provider, in place of the engine's own. */
  readonly host: string;
  readonly #directory: string;
  readonly #target: string;
  readonly #sockets = new Set<Socket>();
  #server: Server;
  #fault: EngineFault = () => undefined;

  private constructor(directory: string, target: string) {
    this.#directory = directory;
    this.#target = target;
    this.host = `unix://${join(directory, "docker.sock")}`;
    this.#server = this.#newServer();
  }

  static async start(api: EngineApi): Promise<EngineProxy> {
    const proxy = new EngineProxy(await mkdtemp(join(tmpdir(), "vk-engine-proxy-")), api.socketPath);
    await proxy.#listen();
    return proxy;
  }

  /** Cuts all connections and takes no new ones, until disposed. */
  async cut(): Promise<AsyncDisposable> {
    await this.#close();
    return {
      [Symbol.asyncDispose]: async () => {
        this.#server = this.#newServer();
        await this.#listen();
      },
    };
  }

  /** Answers in the engine's stead, until disposed. */
  answer(fault: EngineFault): AsyncDisposable {
    this.#fault = fault;
    return {
      [Symbol.asyncDispose]: () => {
        this.#fault = () => undefined;
        return Promise.resolve();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #listen(): Promise<void> {
    this.#server.listen(this.host.replace("unix://", ""));
    await once(this.#server, "listening");
  }

  async #close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, "close");
  }

  #newServer(): Server {
    // As an engine does, it leaves idle connections open: one that it closed might just be used again.
    const server = createServer({ keepAliveTimeout: 0 }, (message, response) => void this.#forward(message, response));
    server.on("upgrade", (message, socket, head) => this.#join(message, socket, head));
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket)).on("error", () => undefined);
    });
    return server;
  }

  async #forward(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = message;
    const [path = "", query] = url.replace(/^\/v[\d.]+/, "").split("?", 2);
    const fault = await this.#fault(method, path, new URLSearchParams(query));
    if (fault) {
      message.resume();
      response.writeHead(fault.status, { "content-type": "application/json" }).end(JSON.stringify({ message: fault.message }));
      return;
    }
    const sent = request({ socketPath: this.#target, method, path: url, headers, agent: false });
    sent.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      pipeline(answer, response, () => undefined);
    });
    sent.on("error", () => response.destroy());
    response.on("close", () => sent.destroy());
    pipeline(message, sent, () => undefined);
  }

  /** What is given out of HTTP is handed on as it is, head and all. */
  #join({ method = "", url = "", rawHeaders }: IncomingMessage, client: Duplex, head: Buffer): void {
    const engine = connect({ path: this.#target, allowHalfOpen: true });
    const lines = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1] ?? ""}`] : []));
    engine.write(`${method} ${url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    engine.write(head);
    engine.on("error", () => client.destroy());
    client.on("error", () => engine.destroy()).on("close", () => engine.destroy());
    client.pipe(engine).pipe(client);
  }
}
