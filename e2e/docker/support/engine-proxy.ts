import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline, type Duplex } from "node:stream";
import type { EngineApi } from "./engine-api.ts";

/** Response in place of the engine's. */
interface FaultAnswer {
  readonly status: number;
  readonly message: string;
}

/** Returns the response to a request, by method, path without version, and query; `undefined` forwards the request. Must not reject. */
export type EngineFault = (
  method: string,
  path: string,
  query: URLSearchParams,
) => Promise<FaultAnswer | undefined> | FaultAnswer | undefined;

/**
 * A proxy in front of an engine that can break connections or respond in place of the engine. Disposing stops the proxy, not the engine.
 */
export class EngineProxy implements AsyncDisposable {
  /** Host for the provider's configuration, in place of the engine's. */
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

  /** Breaks all connections and accepts no new ones until the result is disposed. */
  async cut(): Promise<AsyncDisposable> {
    await this.#close();
    return {
      [Symbol.asyncDispose]: async () => {
        this.#server = this.#newServer();
        await this.#listen();
      },
    };
  }

  /** Responds in place of the engine until the result is disposed. */
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
    // Idle connections stay open, as with an engine, because a client may be about to reuse them.
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

  /** Forwards an upgraded connection unchanged, including its head. */
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
